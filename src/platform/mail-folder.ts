import { mkdir, opendir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// Mails that are not sent are files: those of test keys, and all where there is no mail server.

const keptMs = 7 * 86_400_000;
const maxFiles = 10_000;

/** Files that this process began. */
let begun = 0;

/**
 * The rename makes the file appear only once it is complete.
 * @param name ends with .eml
 * @param count called when the disk has taken the content. When it rejects, there is no file
 */
export async function writeMailFile(
  folder: string,
  name: string,
  content: Buffer,
  count: () => Promise<void>,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${name}.${process.pid}.${++begun}`);
  try {
    await writeFile(unfinished, content, { mode: 0o600 });
    await count();
    await rename(unfinished, join(folder, name));
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Also files that a killed process left unfinished. */
const isMail = (name: string): boolean => name.endsWith('.eml') || (name.startsWith('.') && name.includes('.eml.'));

/**
 * Removes mails that are older than seven days, and all but the newest 10,000: strangers who book cause some. It looks
 * at so many more files than are kept as it may remove, however many there are.
 * @returns how many; fewer than `limit` when no other is to be removed
 */
export async function removeOldMails(
  folder: string,
  limit: number,
  { now = Date.now(), kept = maxFiles } = {},
): Promise<number> {
  const files = await opendir(folder).catch(() => undefined);
  if (!files) return 0;
  const found: { path: string; writtenAt: number }[] = [];
  for await (const { name } of files) {
    if (!isMail(name)) continue;
    const path = join(folder, name);
    // Another process may remove it at the same time.
    const writtenAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (writtenAt !== undefined) found.push({ path, writtenAt });
    if (found.length === kept + limit) break;
  }
  const newestFirst = found.toSorted((a, b) => b.writtenAt - a.writtenAt);
  const old = newestFirst.filter(({ writtenAt }, nth) => nth >= kept || writtenAt < now - keptMs).slice(-limit);
  for (const { path } of old) await rm(path, { force: true });
  return old.length;
}
