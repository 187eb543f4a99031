import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { catalog } from '../../src/services.ts';
import { planTable } from './plan-table.ts';

test('the guide to limits publishes the limits that the code applies', () => {
  const table = planTable(catalog.limits);
  expect(table).toMatch(/^\| limit \| free \| pro \| team \| enterprise \|\n/);
  expect(table).toContain('\n| requests per minute | 60 | 300 | 600 | 6,000 |\n');
  expect(readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8')).toContain(table);
});
