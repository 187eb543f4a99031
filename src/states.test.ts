import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readSources } from '../test/architecture/source-graph.ts';
import { findUnknownStates, type StoredStates } from '../test/architecture/sql-states.ts';
import { diagramOf } from '../test/architecture/state-diagram.ts';
import { statements } from './platform/database/sql.ts';
import { catalog, entities } from './services.ts';

const machines = catalog.states;

const stored = Object.values(machines).flatMap(({ storedIn, all, canMove }): StoredStates[] =>
  storedIn ? [{ ...storedIn, states: all, canMove }] : [],
);

describe('every state machine', () => {
  test.each(Object.entries(machines))('%s: one sentence each, and every state can be reached', (_, table) => {
    const reached = new Set(table.initial);
    for (const from of reached) for (const to of table.after(from)) reached.add(to);
    expect([...reached].sort()).toEqual([...table.all].sort());
    for (const state of table.all) expect(table.meaning(state)).toMatch(/^[A-Z][^.]*\.$/);
  });

  test('is drawn in a guide as it is', () => {
    const folder = new URL('../docs/', import.meta.url);
    const names = readdirSync(folder).filter((name) => name.endsWith('.md'));
    const guides = names.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
    for (const [name, table] of Object.entries(machines)) expect(guides).toContain(diagramOf(name, table));
  });
});

describe('the statements', () => {
  test('name states that there are, and change them as their tables allow', async () => {
    const withStatements = readSources().filter(
      ({ path, text, isTest }) => path.startsWith('src/') && !isTest && /\bstatement[<(]/.test(text),
    );
    for (const { path } of withStatements) await import(`../${path}`);
    expect(statements.size).toBeGreaterThan(100);
    const found = [...statements].flatMap(([name, { text }]) =>
      findUnknownStates(text, stored).map((problem) => `${name}: ${problem}`),
    );
    expect(found).toEqual([]);
  });

  test('are refused when they name another state, wherever it stands', () => {
    const refused = (sql: string) => expect(findUnknownStates(sql, stored)).toHaveLength(1);
    refused("select 1 from run where status in ('queued', 'pending')");
    refused("select 1 from run r join run_step s on s.run_id = r.id where s.status = 'queued'");
    refused("select (select count(*) from delivery d where d.status = 'dead') from run where status = 'queued'");
    refused("insert into run_step (run_id, status) select id, 'queued' from run where status = 'running'");
    refused("update delivery d set status = case when d.id is null then 'failed' else 'discarded' end where d.id = $1");
    refused(
      "with moved as (update run set status = $1 returning id, status) select 1 from moved m where m.status = 'over'",
    );
    refused("update run set status = 'running' where status in ('queued', 'completed')");
    expect(findUnknownStates("update run set status = 'running' where status = 'queued'", stored)).toEqual([]);
  });

  test('and partial indexes name states that there are', () => {
    const found = entities.flatMap(({ meta: { tableName, indexes } }) =>
      indexes.flatMap(({ where }) =>
        typeof where === 'string' ? findUnknownStates(`select from ${tableName} where ${where}`, stored) : [],
      ),
    );
    expect(found).toEqual([]);
    expect(
      entities.flatMap(({ meta }) => meta.indexes.filter(({ where }) => where !== undefined)).length,
    ).toBeGreaterThan(3);
  });
});
