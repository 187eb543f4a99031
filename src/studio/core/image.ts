/** The image that a generation works on, once it was fetched. Its file is removed when the generation ends. */
export interface GenerationImage {
  /** The name of the file in the storage. */
  file: string;
  type: 'png' | 'jpg' | 'webp';
  /** When it is upright, in pixels. */
  width: number;
  height: number;
  /** In hex. */
  sha256: string;
}

/** The text of an address after its `?`, decoded as far as it can be. */
export function queryOf(url: string): string {
  const query = URL.parse(url)?.search.slice(1).replaceAll('+', ' ') ?? '';
  return query.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escaped) => {
    try {
      return decodeURIComponent(escaped);
    } catch {
      return escaped;
    }
  });
}
