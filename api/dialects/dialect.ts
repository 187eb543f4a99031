import type { AppError, Facts } from '../../src/platform/errors.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import type { Envelope } from '../envelopes.ts';

/**
 * The part of a dialect that all features share. How it reads and writes the resources of one feature is in a file of
 * that feature in this folder, as a record with both variants.
 */
export interface Dialect {
  readonly variant: Variant;
  /** The size of a page when the caller does not give one. */
  readonly defaultLimit: number;
  errorCode(error: AppError): string;
  /** Facts of an error with ids in this dialect's form. */
  facts(facts: Facts): Facts;
  /** The envelope of an error on a surface whose own envelope is E1. */
  envelope(error: AppError): Envelope;
}
