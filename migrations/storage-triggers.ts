/** Values of up to so many bytes are not counted: most runs then change no counter. */
const uncounted = 1024;

/** SQL: so many bytes, or none where they are not counted. */
export const aboveUncounted = (bytes: string): string => `case when ${bytes} > ${uncounted} then ${bytes} else 0 end`;

/**
 * Statements that count what the rows of a table keep in `storage_used`, in the transactions that change them. What is added
 * is counted at the commit, when the transaction takes no other lock any more.
 * @param bytesOf SQL of the bytes that a row counts for
 */
export function countStoredBytes(table: string, bytesOf: (row: string) => string): string[] {
  return [
    `create function ${table}_stored() returns trigger language plpgsql as $$
      begin
        perform add_storage_used(new.organization_id, new.environment,
          ${bytesOf('new')} - case tg_op when 'UPDATE' then ${bytesOf('old')} else 0 end);
        return null;
      end $$;`,
    `create function ${table}_unstored() returns trigger language plpgsql as $$
      begin
        perform add_storage_used(gone.organization_id, gone.environment, -gone.bytes)
          from (select was.organization_id, was.environment, sum(${bytesOf('was')})::bigint as bytes
                  from old_rows was group by 1, 2 order by 1, 2) gone
         where gone.bytes <> 0;
        return null;
      end $$;`,
    `create constraint trigger ${table}_stored_insert after insert on ${table} deferrable initially deferred
      for each row when (${bytesOf('new')} > 0) execute function ${table}_stored();`,
    `create constraint trigger ${table}_stored_update after update on ${table} deferrable initially deferred
      for each row when (${bytesOf('new')} <> ${bytesOf('old')}) execute function ${table}_stored();`,
    `create trigger ${table}_unstored after delete on ${table} referencing old table as old_rows
      for each statement execute function ${table}_unstored();`,
  ];
}
