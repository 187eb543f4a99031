import type { ApiContext } from '../context.ts';
import { answerText, type KeptText, keepText } from '../kept-text.ts';

/**
 * Answers with the OpenAPI document. It has hundreds of kilobytes and needs no key, so it is serialized and compressed
 * once: for the first request, because that takes a tenth of a start, and few processes ever get one.
 */
export function documentHandler(makeDocument: () => unknown): (c: ApiContext) => Response {
  let kept: KeptText | undefined;
  return (c) => {
    kept ??= keepText(JSON.stringify(makeDocument()));
    return answerText(c, kept, 'application/json');
  };
}
