import type { ApiContext } from '../context.ts';
import { answerText, type KeptText, keepText } from '../kept-text.ts';

/**
 * Answers with the OpenAPI document. It has hundreds of kilobytes and needs no key, so it is serialized and compressed
 * once. That is done for the first request: it takes a tenth of a start, and few processes are ever asked.
 */
export function documentHandler(makeDocument: () => unknown): (c: ApiContext) => Response {
  let kept: KeptText | undefined;
  return (c) => {
    kept ??= keepText(JSON.stringify(makeDocument()));
    return answerText(c, kept, 'application/json');
  };
}
