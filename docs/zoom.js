// A click on a picture fills the window with it; the wheel makes it larger, a click or Esc ends it.
document.addEventListener("DOMContentLoaded", () => {
  const dialog = document.createElement("dialog");
  dialog.className = "zoom";
  const large = document.createElement("img");
  dialog.append(large);
  document.body.append(dialog);
  let width = 0;

  function resize(wanted) {
    width = Math.min(Math.max(wanted, 100), 8000);
    large.style.width = `${width}px`;
  }

  for (const picture of document.querySelectorAll(".rst-content img:not(.formula)")) {
    picture.classList.add("zoomable");
    picture.addEventListener("click", () => {
      large.src = picture.src;
      large.alt = picture.alt;
      dialog.showModal();
      const fit = Math.min(innerWidth / picture.naturalWidth, innerHeight / picture.naturalHeight);
      resize(0.98 * fit * picture.naturalWidth);
    });
  }
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("wheel", (event) => {
    event.preventDefault();
    resize(width * Math.exp(-0.002 * event.deltaY));
  }, { passive: false });
});
