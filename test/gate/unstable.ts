import { readFileSync } from 'node:fs';
import { z } from 'zod';

const day = z.iso.date();

/** The committed list of unstable files: what was seen, and why it is so once that is known. */
const entries = z.array(
  z.strictObject({
    /** Relative to the root of the project. */
    file: z.string(),
    /** The days on which a run found it unstable. */
    seen: z.array(day).min(1),
    /** The first failure, in a line. */
    failure: z.string().min(1),
    /** Why it is unstable, product or test, once somebody has found out. */
    cause: z.string().min(1).optional(),
    /** At most 14 days after the day on which it was seen last. By then it is mended, or in the deep tier. */
    expires: day,
  }),
);

export type UnstableFile = z.infer<typeof entries>[number];

const maxDays = 14;

export const readUnstable = (): UnstableFile[] =>
  entries.parse(JSON.parse(readFileSync(new URL('../unstable.json', import.meta.url), 'utf8')));

/**
 * What is wrong with the list, a sentence each. A file that was seen twice, or that is in the deep tier, needs a cause.
 * @param today - an ISO date
 */
export function faultsOf(list: UnstableFile[], today: string, isDeep: (file: string) => boolean): string[] {
  return list.flatMap(({ file, seen, cause, expires }) => {
    const last = seen.toSorted().at(-1)!;
    const latest = new Date(Date.parse(last) + maxDays * 86_400_000).toISOString().slice(0, 10);
    return [
      ...(expires < today ? [`${file} expired on ${expires}: mend it, or move it to the deep tier.`] : []),
      ...(expires > latest ? [`${file} expires later than ${maxDays} days after it was seen.`] : []),
      ...(!cause && (seen.length > 1 || isDeep(file)) ? [`${file} needs a cause.`] : []),
    ];
  });
}
