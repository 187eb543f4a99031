import { unavailable } from '../../src/platform/errors.ts';
import type { ApiContext } from '../context.ts';
import { readBytes } from '../middleware/json-body.ts';

/** Maximum over all callers that are authenticated only by their body. */
const maxBytesTogether = 16 * 1024 * 1024;

let reading = 0;

/**
 * Reads the body of an unauthenticated caller, and keeps its bytes counted until `prove` has finished with it.
 * @throws AppError payload_too_large; service_unavailable while too many such bodies are in memory
 */
export async function withUnprovenBody<Result>(
  c: ApiContext,
  maxBytes: number,
  prove: (body: Buffer) => Promise<Result>,
): Promise<Result> {
  let mine = 0;
  const count = (bytes: number) => {
    if (reading + bytes > maxBytesTogether) throw unavailable('The endpoint');
    reading += bytes;
    mine += bytes;
  };
  try {
    return await prove(await readBytes(c, maxBytes, count));
  } finally {
    reading -= mine;
  }
}
