/** For SQL, where `r` is the recovery: whether the present pass through the events includes an event. */
export const isInPass = (event: string) =>
  `(not r.reads_late or ${event}.transaction_number >= r.late_from and ${event}.transaction_number < r.late_until)`;

/** The id before all others. */
export const noId = '00000000-0000-0000-0000-000000000000';

/**
 * For SQL: the columns of a recovery after a part of its events. A second pass begins where the first one began.
 * @param isLast whether the part is the last one of the pass
 * @param last the position of the part's last event; null where the part has none
 */
export const afterPart = (isLast: string, last: { at: string; id: string }) =>
  `after_at = case when ${isLast} then r.since else coalesce(${last.at}, r.after_at) end,
            after_id = case when ${isLast} then '${noId}' else coalesce(${last.id}, r.after_id) end,
            reads_late = r.reads_late or ${isLast} and r.late_from is not null,
            finished_at = case when ${isLast} and (r.late_from is null or r.reads_late) then atelier_now() end`;
