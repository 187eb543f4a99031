import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { openWebhookScene, type WebhookScene } from '../webhooks/scene.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Metric {
  type: string;
  labels: string[];
}

const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);

/** The tables of docs/metrics.md, by the heading above each. */
function readReference(): Map<string, Map<string, Metric>> {
  const sections = read('docs/metrics.md').split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => {
      const rows = section.split('\n').filter((line) => line.startsWith('| `'));
      const metrics = rows.flatMap((row) => {
        const [, names, type, labels] = row.split('|').map((cell) => cell.trim());
        return quoted(names!).map((name) => [name, { type: type!, labels: quoted(labels!).sort() }] as const);
      });
      return [section.split('\n')[0]!, new Map(metrics)];
    }),
  );
}

/** Metrics of the text format of Prometheus. Labels are known only where there is a sample. */
function readServed(text: string): Map<string, { type: string; labels: Set<string>; hasSample: boolean }> {
  const served = new Map<string, { type: string; labels: Set<string>; hasSample: boolean }>();
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    served.set(name!, { type: type!, labels: new Set(), hasSample: false });
  }
  for (const [, name, labels = ''] of text.matchAll(/^([a-zA-Z_]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const metric = served.get(name!) ?? served.get(name!.replace(/_(bucket|sum|count)$/, ''))!;
    metric.hasSample = true;
    for (const [, label] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) if (label !== 'le') metric.labels.add(label!);
  }
  return served;
}

const reference = readReference();
const [ofProcess, ofInstallation, ofTemporal, ofNode] = [
  'Metrics of each process',
  'Metrics of the installation',
  'Metrics of Temporal’s SDK',
  'Metrics of Node',
].map((heading) => reference.get(heading.replace('’', "'"))!);
const all = new Map([...reference.values()].flatMap((section) => [...section]));

describe('docs/metrics.md', () => {
  let scene: WebhookScene;
  let apiOnly: ProductProcess;
  beforeAll(async () => {
    scene = await openWebhookScene();
    apiOnly = await scene.product.start(['api']);
    const { id } = await scene.subscribe();
    await scene.run();
    await scene.reaches(id, 'delivered');
    await until('the ledger was checked', async () => (await textOf(scene.process)).includes('ledger_faults 0'));
  }, 180_000);
  afterAll(() => scene.close());

  async function textOf({ log }: ProductProcess): Promise<string> {
    const line = await until('it serves metrics', async () => log.find(({ metrics }) => metrics));
    return (await fetch(line.metrics as string)).text();
  }

  test('has the names, types and labels of everything that the processes serve', async () => {
    const isOurs = (name: string) => name.startsWith('atelier_');
    // A gauge that the database answers too late has no sample, and is read again.
    const served = await until('all of ours have samples', async () => {
      const all = readServed(await textOf(scene.process));
      return [...all].every(([name, { hasSample }]) => hasSample || !isOurs(name)) && all;
    });
    const own = [...served].filter(([name]) => !name.startsWith('temporal_'));
    expect(own.map(([name]) => name).sort()).toEqual(
      [...ofProcess!, ...ofInstallation!, ...ofNode!].map(([name]) => name).sort(),
    );
    for (const [name, { type, labels, hasSample }] of own) {
      expect({ name, type }).toEqual({ name, type: all.get(name)!.type });
      if (hasSample) expect({ name, labels: [...labels].sort() }).toEqual({ name, labels: all.get(name)!.labels });
      if (isOurs(name)) expect({ name, hasSample }).toEqual({ name, hasSample: true });
    }
  });

  test('has metrics of the SDK as the SDK serves them', async () => {
    // Failures are served once there was one.
    const isOfFailures = (name: string) => /_(failure|failed)_total$/.test(name);
    // What a workflow has done is counted after others saw it.
    const served = await until('all of them are served', async () => {
      const found = readServed(await textOf(scene.process));
      return [...ofTemporal!.keys()].every((name) => isOfFailures(name) || found.has(name)) && found;
    });
    for (const [name, { type, labels }] of ofTemporal!) {
      if (isOfFailures(name) && !served.has(name)) continue;
      expect({ name, type: served.get(name)?.type }).toEqual({ name, type });
      const undocumented = [...served.get(name)!.labels].filter((label) => !labels.includes(label));
      expect({ name, undocumented }).toEqual({ name, undocumented: [] });
    }
  });

  test('says which metrics only processes with the role housekeeping serve', async () => {
    const served = readServed(await textOf(apiOnly));
    for (const name of ofProcess!.keys()) expect(served.has(name)).toBe(true);
    expect([...ofInstallation!.keys()].filter((name) => served.has(name))).toEqual([]);
  });

  test('only counters have the suffix of counters', async () => {
    const served = readServed(await textOf(scene.process));
    expect([...served].filter(([name, { type }]) => name.endsWith('_total') !== (type === 'counter'))).toEqual([]);
  });

  test('all times are in seconds', async () => {
    const names = [...readServed(await textOf(scene.process)).keys()];
    expect(names.filter((name) => /milliseconds|_ms(_|$)|minutes/.test(name))).toEqual([]);
    expect(
      names.filter((name) => /latency|duration|oldest|_age|_lag/.test(name) && !name.endsWith('_seconds')),
    ).toEqual([]);
  });
});

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook: string };
}

const alerts: { groups: { rules: Rule[] }[] } = parse(read('deploy/alerts.yml'));
const rules = alerts.groups.flatMap((group) => group.rules);

interface Panel {
  id: number;
  type: string;
  title: string;
  targets?: { expr: string }[];
}

const dashboard: { panels: Panel[] } = JSON.parse(read('deploy/grafana-dashboard.json'));
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** Names of metrics and the labels that an expression selects or groups by, for each. */
function usesOf(expr: string): { name: string; labels: string[] }[] {
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(',').map((one) => one.trim()),
  );
  return [...expr.matchAll(/\b((?:atelier|temporal|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name, selectors = '']) => ({
      name: name!,
      labels: [...grouped, ...[...selectors.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!)],
    }),
  );
}

describe('alert rules and dashboard', () => {
  test.each(expressions)('%s uses metrics and labels that exist', (_, expr) => {
    const uses = usesOf(expr);
    expect(uses.length + (expr.match(/\bup\{/g)?.length ?? 0)).toBeGreaterThan(0);
    for (const { name, labels } of uses) {
      const metric = all.get(name) ?? all.get(name.replace(/_(bucket|sum|count)$/, ''));
      expect({ name, isKnown: metric !== undefined }).toEqual({ name, isKnown: true });
      // Prometheus adds where a metric is from.
      const known = [...metric!.labels, 'le', 'job', 'instance'];
      expect({ name, unknown: labels.filter((label) => !known.includes(label)) }).toEqual({ name, unknown: [] });
    }
    // Every selector names the job, so that others on the same Prometheus are left out.
    expect(expr.match(/\{/g)).toHaveLength(expr.match(/\{job="atelier"/g)!.length);
  });

  test('no rule adds up a gauge that several processes serve', () => {
    const names = [...ofInstallation!.keys()].join('|');
    for (const [title, expr] of expressions) {
      expect({ title, sums: new RegExp(`(sum|avg|count)( by \\([^)]*\\))? ?\\((${names})\\b`).test(expr) }).toEqual({
        title,
        sums: false,
      });
    }
  });

  test('every rule says how bad it is and what to do', () => {
    for (const { labels, annotations } of rules) {
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(annotations.summary).toBeTruthy();
      expect(annotations.description).toMatch(/\.$/);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  test('every rule links its section of the runbooks, which says what it means and what to do', () => {
    const sections = read('docs/runbooks.md')
      .split(/^###? /m)
      .slice(1);
    const titled = new Map(sections.map((section) => [section.split('\n')[0]!, section]));
    for (const { alert, annotations } of rules) {
      expect({ alert, runbook: annotations.runbook }).toEqual({
        alert,
        runbook: `docs/runbooks.md#${alert.toLowerCase()}`,
      });
      const [meaning, ...steps] = (titled.get(alert) ?? '').split('\n').slice(2).join('\n').split('\n\n');
      expect({ alert, isExplained: meaning!.length > 40 }).toEqual({ alert, isExplained: true });
      expect(steps.join('\n')).toMatch(/^- Look: [\s\S]+^- Do: /m);
    }
    const described = [...titled.keys()].filter((title) => title.startsWith('Atelier'));
    expect(described.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });

  test('every metric of the product is on a panel of the dashboard, and every panel has an id of its own', () => {
    const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => usesOf(expr)));
    const names = new Set(shown.map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')));
    // The sums over all kinds are enough beside the kinds.
    const own = [...ofProcess!.keys(), ...ofInstallation!.keys()].filter((name) => name !== 'atelier_outbox_entries');
    expect(own.filter((name) => !names.has(name))).toEqual([]);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('Prometheus scrapes every container of the product', () => {
    const { scrape_configs } = parse(read('deploy/prometheus.yml'));
    const compose = parse(read('docker-compose.yml'), { merge: true });
    const running = Object.entries<{ command?: string[] }>(compose.services)
      .filter(([, { command }]) => command?.[1] === 'workers/main.ts')
      .map(([name]) => name);
    expect(scrape_configs[0].job_name).toBe('atelier');
    expect(scrape_configs[0].dns_sd_configs[0].names.sort()).toEqual(running.sort());
  });
});
