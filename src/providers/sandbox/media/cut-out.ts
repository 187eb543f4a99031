/** A working copy: 4 bytes of red, green, blue and alpha per pixel. */
interface Raster {
  width: number;
  height: number;
}

/** Colours nearer than this belong together: a sum over the three channels. */
const tolerance = 60;

/** Below this share of the border in one colour there is no background to find. */
const leastBorder = 0.4;

/** Above this share of the image there is no foreground. */
const maxCoverage = 0.995;

/** The indices of the pixels at the border. */
function* border({ width, height }: Raster): Generator<number> {
  for (let x = 0; x < width; x++) {
    yield x;
    yield (height - 1) * width + x;
  }
  for (let y = 1; y < height - 1; y++) {
    yield y * width;
    yield y * width + width - 1;
  }
}

type Colour = readonly [red: number, green: number, blue: number];

const colourAt = (pixels: Uint8Array, index: number): Colour => [
  pixels[index * 4]!,
  pixels[index * 4 + 1]!,
  pixels[index * 4 + 2]!,
];

/** The mean of the commonest colours of the border; undefined when the border has no common colour. */
function borderColour(pixels: Uint8Array, raster: Raster): Colour | undefined {
  const buckets = new Map<number, { count: number; sum: [number, number, number] }>();
  let all = 0;
  for (const index of border(raster)) {
    const [red, green, blue] = colourAt(pixels, index);
    const name = ((red >> 6) << 4) | ((green >> 6) << 2) | (blue >> 6);
    const bucket = buckets.get(name) ?? { count: 0, sum: [0, 0, 0] };
    bucket.count++;
    bucket.sum[0] += red;
    bucket.sum[1] += green;
    bucket.sum[2] += blue;
    buckets.set(name, bucket);
    all++;
  }
  const [commonest] = [...buckets.values()].sort((one, other) => other.count - one.count);
  if (!commonest || commonest.count < all * leastBorder) return undefined;
  const [red, green, blue] = commonest.sum;
  return [red / commonest.count, green / commonest.count, blue / commonest.count];
}

/**
 * Finds the background of an image: the area of the border's colour that touches the border.
 * @param pixels red, green, blue and alpha of each
 * @returns an alpha value for each pixel, 0 for the background; undefined when no background can be distinguished from the rest
 */
export function cutOutMask(pixels: Uint8Array, raster: Raster): Uint8Array | undefined {
  const { width, height } = raster;
  const common = borderColour(pixels, raster);
  if (!common) return undefined;
  const isNear = (index: number) => {
    const [red, green, blue] = colourAt(pixels, index);
    return Math.abs(red - common[0]) + Math.abs(green - common[1]) + Math.abs(blue - common[2]) <= tolerance;
  };
  const mask = new Uint8Array(width * height).fill(255);
  const queue = new Int32Array(width * height);
  let end = 0;
  const visit = (index: number) => {
    if (mask[index] === 0 || !isNear(index)) return;
    mask[index] = 0;
    queue[end++] = index;
  };
  for (const index of border(raster)) visit(index);
  for (let at = 0; at < end; at++) {
    const index = queue[at]!;
    const x = index % width;
    if (x > 0) visit(index - 1);
    if (x < width - 1) visit(index + 1);
    if (index >= width) visit(index - width);
    if (index < width * (height - 1)) visit(index + width);
  }
  return end === 0 || end > mask.length * maxCoverage ? undefined : mask;
}
