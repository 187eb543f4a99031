import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';

const list = systemStatement({
  name: 'passkey.list',
  parameters: { userId: 'uuid' },
  row: { id: 'uuid', name: 'text', createdAt: 'timestamptz?' },
  text: `select id, left(coalesce(nullif("name", ''), 'Passkey'), 100) as name, "createdAt"
     from auth."passkey" where "userId" = :userId order by id limit 100`,
});
const remove = systemStatement({
  name: 'passkey.remove',
  parameters: { userId: 'uuid', id: 'uuid' },
  text: `delete from auth."passkey" where "userId" = :userId and id = :id`,
});

/** The passkeys of a person, oldest first. @param userId a canonical uuid */
export const listPasskeys = ({ pool }: Database, userId: string) => sqlOn(pool).rows(list, { userId });

/** Removes a passkey of a person, and no other person's. Both ids are canonical uuids. */
export async function removePasskey({ pool }: Database, userId: string, id: string): Promise<void> {
  await sqlOn(pool).rows(remove, { userId, id });
}
