// Puts a button in front of an element when the pointer first moves on it: for this time in milliseconds, or to stay.
const cover = (element, time) => element.addEventListener('mousemove', () => {
  const veil = document.createElement('button');
  veil.className = 'veil';
  veil.textContent = 'Offer';
  veil.style.opacity = 0.5;
  for (const kind of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'focus']) {
    veil.addEventListener(kind, () => pressed(`veil: ${kind}`));
  }
  element.parentNode.append(veil);
  if (time) setTimeout(() => veil.remove(), time);
}, { once: true });
