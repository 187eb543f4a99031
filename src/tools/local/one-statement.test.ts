import { expect, test } from '@jest/globals';
import { isOneStatement } from './one-statement.ts';
import { toReal, withShownPaths } from './shown-paths.ts';

test.each([
  'select 1',
  'select 1;',
  " select ';' ; ",
  'select ";" -- ; drop',
  'select 1 /* ; */;',
  'select [a;b] from `c;d`',
  "insert into t values ('it''s; fine')",
  'create trigger a after insert on b begin delete from c; select 1; end;',
])('%s is one statement', (sql) => {
  expect(isOneStatement(sql)).toBe(true);
});

test.each([
  '',
  ';',
  '-- nothing',
  'select 1; select 2',
  "select 1; attach 'x' as y",
  "select ';'; drop table t",
  '/* */; select 1',
  'create trigger a after insert on b begin select 1; end; drop table t',
])('%s is not', (sql) => {
  expect(isOneStatement(sql)).toBe(false);
});

test('a shown path stands for a place below the root, whatever it says', () => {
  expect(toReal('/root', '/a/b')).toBe('/root/a/b');
  expect(toReal('/root', 'a')).toBe('/root/a');
  for (const path of ['/', '.', '..', '/../..', 'a/../..']) expect(toReal('/root', path)).toBe('/root');
  expect(toReal('/root', '../../etc/passwd')).toBe('/root/etc/passwd');
  for (const path of [undefined, 5, 'a\0b', 'x'.repeat(2_000), 'a/'.repeat(100)])
    expect(toReal('/root', path)).toBeUndefined();
  const shown = withShownPaths('/data/org/test/files', ['/data/org/test', '/app']);
  expect(shown('/data/org/test/files/a in /data/org/test/files, /data/org/test/x and /app/y')).toBe(
    '/a in /, /x and /y',
  );
});
