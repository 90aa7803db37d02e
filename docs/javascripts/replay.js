// An animated picture starts when it comes into view, and again by a button; without motion there is neither.

for (const picture of document.querySelectorAll("img[src*='-filling.svg']")) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) continue;
  const { src } = picture;
  const play = () => {
    picture.src = "";
    picture.src = src;
  };
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "replay", textContent: "Play again", onclick: play });
  picture.after(document.createElement("br"), button);
  new IntersectionObserver(([seen], observer) => {
    if (!seen.isIntersecting) return;
    observer.disconnect();
    play();
  }, { threshold: 0.6 }).observe(picture);
}
