"""Global planning: a tree of pushes, regrasps and transits, then iRS-LQR."""

from irs_planner.search.global_planner import (
    check_searchable,
    search_globally,
    search_leg,
)
from irs_planner.search.settings import SearchReport, SearchSettings

__all__ = ["SearchReport", "SearchSettings", "check_searchable", "search_globally", "search_leg"]
