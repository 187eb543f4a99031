/** Deeper values overflow the stack of a later `JSON.stringify`, or of whatever else walks them. */
export const maxDepth = 64;

/** Objects, lists and members of one text. Each costs a parser and its readers up to a microsecond. */
export const maxStructures = 40_000;

/** Maximum commas of one text. Values in lists other than objects and lists cost a tenth of these. */
export const maxCommas = 550_000;

/** Why a text is not parsed. */
export type JsonExcess = 'too_large' | 'too_deep' | 'too_many';

export interface JsonLimits {
  /** Bytes of the text in UTF-8. */
  maxBytes: number;
  /** 64 unless given. */
  maxDepth?: number;
  /** Objects, lists and members: 40,000 unless given. */
  maxStructures?: number;
  /** 550,000 unless given. */
  maxCommas?: number;
}

const [quote, backslash, comma, colon, space] = [0x22, 0x5c, 0x2c, 0x3a, 0x20];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Counts what parsing a JSON text would cost, as its bytes arrive and before they are parsed: a byte can cost a
 * thousand times another. Takes linear time, and a tenth of the time of parsing.
 */
export class JsonBounds {
  readonly #limits: Required<JsonLimits>;
  #bytes = 0;
  #depth = 0;
  #structures = 0;
  #commas = 0;
  #isInText = false;
  #isEscaped = false;

  constructor(limits: JsonLimits) {
    this.#limits = { maxDepth, maxStructures, maxCommas, ...limits };
  }

  /** What follows is another text. */
  restart(): void {
    this.#bytes = 0;
    this.#depth = 0;
    this.#structures = 0;
    this.#commas = 0;
    this.#isInText = false;
    this.#isEscaped = false;
  }

  /** @returns which limit the text exceeds; undefined while it exceeds none */
  add(bytes: Uint8Array): JsonExcess | undefined {
    this.#bytes += bytes.length;
    if (this.#bytes > this.#limits.maxBytes) return 'too_large';
    let [depth, structures, commas] = [this.#depth, this.#structures, this.#commas];
    let [isInText, isEscaped] = [this.#isInText, this.#isEscaped];
    let deepest = depth;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (isInText) {
        // No JSON text continues after a control character: a parser stops there, and a line of a stream ends.
        if (byte < space) isInText = isEscaped = false;
        else if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) isInText = false;
      } else if (byte === quote) isInText = true;
      else if (byte === comma) commas++;
      else if (byte === colon) structures++;
      else if (byte === openBrace || byte === openBracket) {
        structures++;
        if (++depth > deepest) deepest = depth;
      } else if (byte === closeBrace || byte === closeBracket) depth--;
    }
    this.#depth = depth;
    this.#structures = structures;
    this.#commas = commas;
    this.#isInText = isInText;
    this.#isEscaped = isEscaped;
    if (deepest > this.#limits.maxDepth) return 'too_deep';
    return structures > this.#limits.maxStructures || commas > this.#limits.maxCommas ? 'too_many' : undefined;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const sentences: Record<JsonExcess | 'malformed', string> = {
  too_large: 'is too large',
  too_deep: `is nested deeper than ${maxDepth} levels`,
  too_many: `has more than ${maxStructures.toLocaleString('en')} objects, lists and members`,
  malformed: 'is not valid JSON',
};

/** A text from outside that is not read. */
export class JsonRefused extends Error {
  override name = 'JsonRefused';
  readonly reason: JsonExcess | 'malformed';
  /** The problem of the text, as it follows its name: `is too large`. */
  readonly fault: string;

  constructor(reason: JsonExcess | 'malformed') {
    super(`The JSON ${sentences[reason]}.`);
    this.reason = reason;
    this.fault = sentences[reason];
  }
}

/**
 * Parses JSON from outside: from a caller, a provider, a tool server, a model. Any text costs at most some tens of
 * milliseconds.
 * @param source a text, or its bytes in UTF-8
 * @param limits lower ones than those of any text
 * @throws JsonRefused
 */
export function parseJson(
  source: string | Uint8Array,
  maxBytes: number,
  limits: Omit<JsonLimits, 'maxBytes'> = {},
): unknown {
  // A text has at least as many bytes as characters.
  if (source.length > maxBytes) throw new JsonRefused('too_large');
  const isText = typeof source === 'string';
  const excess = new JsonBounds({ ...limits, maxBytes }).add(isText ? encoder.encode(source) : source);
  if (excess) throw new JsonRefused(excess);
  try {
    return JSON.parse(isText ? source : decoder.decode(source));
  } catch {
    throw new JsonRefused('malformed');
  }
}

/** The same. @returns undefined, which JSON cannot represent, for a refused text */
export function readJson(source: string | Uint8Array, maxBytes: number): unknown {
  try {
    return parseJson(source, maxBytes);
  } catch {
    return undefined;
  }
}
