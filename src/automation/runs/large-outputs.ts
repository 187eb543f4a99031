import type { Scope } from '../../platform/database/scope.ts';
import type { Files, StoredFile } from '../../storage/index.ts';
import { runIds } from '../core/ids.ts';
import { maxOutputBytes, Storable } from '../steps/storable.ts';
import { shownBytes } from './run-columns.ts';

/**
 * Whether an output of so many bytes as JSON is a file. Its row then has the file's name: the table stays small, and an
 * answer that does not include the output does not touch it. Such a file lives as long as the rows that name it, which are
 * those of its run and of retries of that run.
 */
export const isLarge = (bytes: number): boolean => bytes > shownBytes;

/** Stores a large output before the transaction that records it. @throws StorageFailure */
export function storeOutput(files: Files, scope: Scope, runId: string, { json }: Storable): Promise<StoredFile> {
  const content = Buffer.from(json);
  return files.store(scope, {
    kind: 'output',
    type: 'json',
    maxBytes: maxOutputBytes,
    content,
    title: runIds.format(runId),
  });
}

/** An output as its row has it. */
export interface KeptOutput {
  output: unknown;
  /** The name of the file that has it instead. */
  file: string | null;
}

/** @returns JSON @throws StorageFailure; Error when the file is gone */
export async function readOutputFile(files: Files, name: string): Promise<Buffer> {
  const content = await files.read(name);
  if (!content) throw new Error(`The file ${name} of an output is gone.`);
  return content;
}

/** As it is stored. @throws StorageFailure; Error when the file is gone */
export async function readStored(
  files: Files,
  { output, file, bytes }: KeptOutput & { bytes: number },
): Promise<Storable> {
  if (file === null) return Storable.ofValue(output, bytes);
  return Storable.ofJson((await readOutputFile(files, file)).toString(), bytes);
}

/** @throws StorageFailure; Error when the file is gone */
export async function readOutput(files: Files, { output, file }: KeptOutput): Promise<unknown> {
  return file === null ? output : JSON.parse((await readOutputFile(files, file)).toString());
}
