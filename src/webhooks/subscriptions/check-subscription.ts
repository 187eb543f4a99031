import type { Egress } from '../../platform/egress/egress.ts';
import { checkHeader } from '../../platform/egress/egress-destination.ts';
import { type FieldError, invalid } from '../../platform/errors.ts';
import { isSignatureHeader } from '../core/signing.ts';
import type { Headers } from './subscription-secrets.ts';

export const maxHeaders = 20;
export const maxHeaderValueLength = 1_000;
const maxHeaderBytes = 8 * 1024;

/** Headers that the product sets itself. */
const own = ['content-type', 'user-agent'];
/** Replaces the headers of a webhook in a long list: sent back as a change, it would overwrite all of them. */
const reference = '$ref';
const reserved = [...own, reference];

function headerProblem(name: string, value: string, brand: string): string | undefined {
  const problem = checkHeader(name, value);
  if (problem !== undefined) return problem;
  if (reserved.includes(name.toLowerCase()) || isSignatureHeader(name, brand))
    return `the header ${name} cannot be set`;
  return value.length > maxHeaderValueLength ? `expected at most ${maxHeaderValueLength} characters` : undefined;
}

const sentence = (problem: string): string => `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`;

function findHeaderProblems(headers: Headers, brand: string): FieldError[] {
  const given = Object.entries(headers);
  if (given.length > maxHeaders) return [{ path: 'headers', message: `Expected at most ${maxHeaders} headers.` }];
  const bytes = given.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (bytes > maxHeaderBytes) {
    return [{ path: 'headers', message: `Expected at most ${maxHeaderBytes} bytes of names and values together.` }];
  }
  const names = given.map(([name]) => name.toLowerCase());
  return given.flatMap(([name, value], index) => {
    const isRepeated = names.indexOf(name.toLowerCase()) < index;
    const problem = isRepeated ? `the header ${name} is given twice` : headerProblem(name, value, brand);
    return problem === undefined ? [] : [{ path: `headers.${name}`, message: sentence(problem) }];
  });
}

/** URL parsers drop surrounding spaces and line breaks, so that requests would go elsewhere than the URL shown. */
const urlProblem = (egress: Pick<Egress, 'checkDestination'>, url: string): string | undefined =>
  /\s/.test(url) ? 'expected a URL without spaces (%20 stands for one)' : egress.checkDestination(url);

/**
 * Refuses forbidden destinations and reserved headers.
 * @throws AppError validation_error with paths url, headers and headers.<name>
 */
export function checkSubscription(
  egress: Pick<Egress, 'checkDestination'>,
  brand: string,
  { url, headers = {} }: { url?: string | undefined; headers?: Headers | undefined },
): void {
  const problem = url === undefined ? undefined : urlProblem(egress, url);
  const problems = [
    ...(problem === undefined ? [] : [{ path: 'url', message: sentence(problem) }]),
    ...findHeaderProblems(headers, brand),
  ];
  if (problems.length > 0) throw invalid(problems);
}
