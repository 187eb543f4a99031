import { invalid } from '../../src/platform/errors.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import type { Dialect } from './dialect.ts';
import { isIdOfB, variants } from './variants.ts';

/** Everything about a request that chooses its dialect, as far as it has been read. */
interface DialectSigns {
  /** Header X-API-Variant. */
  header?: string | undefined;
  path: string;
  /** The dialect that the body of the request implies, once it was read. */
  bodyVariant?: Variant | undefined;
  /** The setting of the caller's key, once it is known. */
  keyVariant?: Variant | undefined;
}

const isVariant = (text: string): text is Variant => text === 'A' || text === 'B';

/** The first of these decides: the header, a prefixed id in the path, the body, the key's setting. */
export function chooseDialect({ header, path, bodyVariant, keyVariant }: DialectSigns): Dialect {
  if (header !== undefined && isVariant(header)) return variants[header];
  // A path without an underscore, which most are, has no prefixed id.
  if (path.includes('_') && path.split('/').some(isIdOfB)) return variants.B;
  return variants[bodyVariant ?? keyVariant ?? 'A'];
}

/** @throws AppError validation_error when the header names no dialect */
export function checkVariantHeader(header: string | undefined): void {
  if (header === undefined || isVariant(header)) return;
  throw invalid([{ path: 'X-API-Variant', message: 'Expected A or B.' }]);
}
