import { type FieldError, invalid } from '../platform/errors.ts';
import type { BookedLocation, OfferedLocation, Question } from './entities.ts';

/** Of a location the address that a link can be made of; null where it has none. */
function urlOf({ url, number }: OfferedLocation): string | null {
  if (url !== undefined && url !== '') return url;
  const digits = number?.replaceAll(/[^\d+*#,;]/g, '') ?? '';
  return digits === '' ? null : `tel:${digits}`;
}

/**
 * The location asked for, else the first one offered, else none.
 * @throws AppError validation_error with path location.type for one that is not offered
 */
export function chooseLocation(offered: readonly OfferedLocation[], type: string | undefined): BookedLocation | null {
  const chosen = type === undefined ? offered[0] : offered.find((one) => one.type === type);
  if (type !== undefined && !chosen) {
    const types = offered.map((one) => one.type).join(', ');
    const message = types === '' ? 'The event type offers no locations.' : `Expected one of ${types}.`;
    throw invalid([{ path: 'location.type', message }]);
  }
  return chosen ? { type: chosen.type, url: urlOf(chosen) } : null;
}

const isGiven = (value: unknown): boolean =>
  typeof value === 'string' ? value.trim() !== '' : Array.isArray(value) ? value.length > 0 : value != null;

/** @throws AppError validation_error with a path responses.<label> for each required question without an answer */
export function checkResponses(questions: readonly Question[], responses: Record<string, unknown>): void {
  const problems = questions.flatMap(({ label, type, required }): FieldError[] => {
    if (!required) return [];
    const answer = Object.hasOwn(responses, label) ? responses[label] : undefined;
    if (type === 'checkbox' ? answer === true : isGiven(answer)) return [];
    return [{ path: `responses.${label}`, message: type === 'checkbox' ? 'Expected true.' : 'Required.' }];
  });
  if (problems.length > 0) throw invalid(problems);
}
