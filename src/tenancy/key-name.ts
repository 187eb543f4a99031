import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { keyIds } from './core/ids.ts';

const findName = systemStatement({
  name: 'key.name',
  parameters: { id: 'uuid' },
  row: { name: 'text?' },
  text: 'select name from api_key where id = :id',
});

/** What people call a key: its name, or its id where it has none. */
export async function keyName(database: Database, keyId: string): Promise<string> {
  const found = await sqlOn(database.pool).one(findName, { id: keyId });
  return found?.name?.trim() || keyIds.format(keyId);
}
