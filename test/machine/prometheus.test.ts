import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));

/** @throws with what it printed when it finds a fault */
async function promtool(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('/usr/bin/promtool', args, { cwd: deploy });
  return stdout;
}

test('promtool accepts the configuration and the alert rules', async () => {
  await promtool('check', 'config', 'prometheus.yml');
  expect(await promtool('check', 'rules', 'alerts.yml')).toContain('SUCCESS');
});

test('the alert rules fire when they should, and say what they should', async () => {
  expect(await promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
});

test('promtool accepts every expression of the dashboard', async () => {
  const { panels } = JSON.parse(await readFile(join(deploy, 'grafana-dashboard.json'), 'utf8'));
  const exprs: string[] = panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')),
  );
  expect(exprs.length).toBeGreaterThan(20);
  const rules = exprs.map((expr, index) => ({ record: `panel_${index}`, expr }));
  const folder = await mkdtemp(join(tmpdir(), 'atelier-rules-'));
  try {
    // JSON is YAML.
    await writeFile(join(folder, 'rules.yml'), JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    await promtool('check', 'rules', join(folder, 'rules.yml'));
  } finally {
    await rm(folder, { recursive: true });
  }
});
