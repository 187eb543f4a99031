import type { Random } from './random.ts';

interface Size {
  width: number;
  height: number;
}

const hsl = (hue: number, saturation: number, light: number) =>
  `hsl(${Math.round(hue) % 360},${Math.round(saturation)}%,${Math.round(light)}%)`;

function background({ width, height }: Size, random: Random, hue: number): string {
  const stops = [0, 60, 100].map((offset, index) => {
    const colour = hsl(hue + index * random.between(20, 70), random.between(45, 75), 78 - index * 22);
    return `<stop offset="${offset}%" stop-color="${colour}"/>`;
  });
  return (
    `<defs><linearGradient id="g" x1="0" y1="0" x2="${random.between(0.2, 1).toFixed(3)}" y2="1">` +
    `${stops.join('')}</linearGradient></defs><rect width="${width}" height="${height}" fill="url(#g)"/>`
  );
}

function shape({ width, height }: Size, random: Random, hue: number): string {
  const unit = Math.min(width, height);
  const [x, y] = [random.whole(0, width), random.whole(0, height)];
  const size = random.whole(unit / 16, unit / 4);
  const fill = hsl(hue + random.between(120, 240), random.between(50, 90), random.between(35, 70));
  const paint = `fill="${fill}" fill-opacity="${random.between(0.55, 0.95).toFixed(2)}"`;
  switch (random.pick(['circle', 'square', 'triangle', 'ring'] as const)) {
    case 'circle':
      return `<circle cx="${x}" cy="${y}" r="${size}" ${paint}/>`;
    case 'square':
      return `<rect x="${x - size}" y="${y - size}" width="${size * 2}" height="${size * 2}" rx="${size / 8}" ${paint}/>`;
    case 'triangle':
      return `<path d="M${x} ${y - size}L${x + size} ${y + size}L${x - size} ${y + size}Z" ${paint}/>`;
    case 'ring':
      return `<circle cx="${x}" cy="${y}" r="${size}" fill="none" stroke="${fill}" stroke-width="${size / 3}"/>`;
  }
}

/**
 * A picture of coloured shapes as SVG. It consists of numbers alone: it contains no text of a caller, and no other
 * text, whose look would depend on the fonts of the machine.
 */
export function pictureSvg(size: Size, random: Random, shapes: number): string {
  const hue = random.between(0, 360);
  const parts = [background(size, random, hue), ...Array.from({ length: shapes }, () => shape(size, random, hue))];
  const { width, height } = size;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${parts.join('')}</svg>`;
}
