import { EnvError } from '../env.ts';

/** Thrown for a database whose migrations began with others than those of this version. */
export class UnknownSchema extends EnvError {
  override name = 'UnknownSchema';
  /** A clause that says why. */
  readonly reason: string;

  constructor({ unknown, missing }: { unknown: string; missing: string }) {
    const reason = `another version of Atelier made it, whose first migration is ${unknown} and not ${missing}`;
    super(`The database cannot be migrated, because ${reason}. Use that version, or an empty database.`);
    this.reason = reason;
  }
}
