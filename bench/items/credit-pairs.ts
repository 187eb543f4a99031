import pg from 'pg';
import { grantCredits } from '../../src/credits/grants.ts';
import { reserveCredits, settleCredits } from '../../src/credits/reservations.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { openProductDatabase } from '../../src/services.ts';
import { interleave } from '../interleave.ts';
import { compare, type Finding, type Item } from '../item.ts';
import { ratePerSecond } from '../load.ts';

const baseline = 'bare pg, UPDATE and INSERT twice';
const crowd = { concurrency: 32, rampMs: 200, windowMs: 2_000 };
const connections = 20;

/** As narrow as an account and its entries can be: one sum, one line for each change of it. */
const bareTables = `
  create schema bench;
  create table bench.account (id uuid primary key, available bigint not null, held bigint not null)
    with (fillfactor = 50);
  create table bench.entry (
    account_id uuid not null, key uuid not null, phase smallint not null, amount int not null,
    created_at timestamptz not null, primary key (account_id, key, phase));
  insert into bench.account select id, 1000000000, 0 from organization`;

const bareStatement = (phase: 1 | 2, change: string) => ({
  name: `bare.${phase}`,
  text: `with moved as (update bench.account set ${change} where id = $1)
         insert into bench.entry values ($1, $2, ${phase}, $3, now())`,
});
const bareReserve = bareStatement(1, 'available = available - $3::int, held = held + $3');
const bareSettle = bareStatement(2, 'held = held - $3::int');

/** Organizations with credits, many of which have only the test grant. */
async function prepareOrganizations(pool: pg.Pool, database: Database, count: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into organization (id, name, plan, created_at, updated_at)
     select uuidv7(), 'Bench', 'pro', now(), now() from generate_series(1, $1) returning id`,
    [count],
  );
  const [{ id } = { id: '' }] = rows;
  await grantCredits(database, { organizationId: id, environment: 'test', amount: 1_000_000_000 });
  return rows.map((row) => row.id);
}

async function reserveAndSettle(database: Database, organizationId: string): Promise<void> {
  const key = newId();
  const scope = new Scope(database, { organizationId, environment: 'test' }, key);
  await reserveCredits(scope, { operation: 'chat', key, amount: 1, expiresInMs: 60_000 });
  await settleCredits(scope, { key, amount: 1 });
}

/** P7: credits set aside and charged, as every priced piece of work does it. Two round trips on either side. */
export const creditPairs: Item = {
  name: 'P7',
  title: 'credits: reserve and settle, 32 concurrent over 20 connections',
  needs: 'stand',
  async run(stand, cleanup) {
    const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: connections });
    const database = await openProductDatabase(stand.databaseUrl, connections);
    const close = async () => {
      if (!pool.ending) await Promise.all([pool.end(), database.close()]);
    };
    cleanup.add(close);
    const organizations = await prepareOrganizations(pool, database, 1_000);
    await pool.query(bareTables);
    // An organization's first use opens its account, which is not what is measured.
    for (let from = 0; from < organizations.length; from += connections) {
      await Promise.all(organizations.slice(from, from + connections).map((id) => reserveAndSettle(database, id)));
    }

    const measure = async (what: string, ids: string[], atLeast: number): Promise<Finding> => {
      let n = 0;
      const next = () => ids[n++ % ids.length]!;
      const bare = async () => {
        const [id, key] = [next(), newId()];
        await pool.query({ ...bareReserve, values: [id, key, 1] });
        await pool.query({ ...bareSettle, values: [id, key, 1] });
      };
      const product = () => reserveAndSettle(database, next());
      const side = (name: string, pair: () => Promise<void>) => ({
        name,
        warmUp: () => ratePerSecond(pair, { ...crowd, rampMs: 0 }),
        round: () => ratePerSecond(pair, crowd),
      });
      const measured = await interleave(stand.meter, 5, [side(baseline, bare), side('product', product)]);
      return compare('pairs/s', what, measured, { [baseline]: { atLeast } });
    };
    const findings = [
      await measure('one organization', organizations.slice(0, 1), 1),
      await measure('1,000 organizations', organizations, 0.7),
    ];
    await close();
    return findings;
  },
};
