/** `requests per minute` of `requestsPerMinute`. */
export const limitName = (name: string): string =>
  name
    .replace('Bytes', '')
    .replace('.', ' ')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const gib = 1024 ** 3;

/** A number of a limit: bytes as GiB. */
export const limitNumber = (name: string, value: number): string =>
  name.endsWith('Bytes')
    ? `${(value / gib).toLocaleString(undefined, { maximumFractionDigits: 2 })} GiB`
    : value.toLocaleString();
