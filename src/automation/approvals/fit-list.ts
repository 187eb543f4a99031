import { shortened } from '../../platform/core/shortened.ts';
import { approvalIds } from '../core/ids.ts';
import type { ApprovalView } from './views.ts';

/** Maximum bytes of a list as JSON: no answer has more than 2 MiB, with room for the rest of the answer. */
const maxListBytes = 2 * 1024 * 1024 - 64 * 1024;
/** A smaller value is not replaced: its reference would take as much. */
const minReplaced = 512;
/** Characters of messages and comments in a list that would be too large. */
const maxText = 1_000;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const withShortTexts = (view: ApprovalView): ApprovalView => ({
  ...view,
  message: shortened(view.message, maxText),
  response: view.response && {
    ...view.response,
    comment: view.response.comment && shortened(view.response.comment, maxText),
  },
});

/**
 * A list that fits into an answer: the largest forms, and values of answers, become `{$ref, bytes}` until it does. Where
 * that is not enough, messages and comments are cut.
 * @param maxBytes where less fits
 */
export function fitList(views: readonly ApprovalView[], maxBytes = maxListBytes): ApprovalView[] {
  const fitted = [...views];
  let bytes = bytesOf(views);
  const parts = fitted.flatMap(({ form, response }, at) => [
    ...(form ? [{ at, part: 'form' as const, bytes: bytesOf(form) }] : []),
    ...(response ? [{ at, part: 'values' as const, bytes: bytesOf(response.values) }] : []),
  ]);
  for (const { at, part, bytes: size } of parts.toSorted((one, other) => other.bytes - one.bytes)) {
    if (bytes <= maxBytes) return fitted;
    if (size < minReplaced) break;
    const view = fitted[at]!;
    const reference = { $ref: `/api/v1/approvals/${approvalIds.format(view.approvalId)}`, bytes: size };
    fitted[at] =
      part === 'form' ? { ...view, form: reference } : { ...view, response: { ...view.response!, values: reference } };
    bytes += bytesOf(reference) - size;
  }
  return bytes <= maxBytes ? fitted : fitted.map(withShortTexts);
}
