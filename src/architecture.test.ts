import { existsSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import packageJson from '../package.json' with { type: 'json' };
import { expressionsOf, nonlinear } from '../test/architecture/expressions.ts';
import { spreadLiterals } from '../test/architecture/literals.ts';
import { commentsThatBeginWithOf, refusedNames } from '../test/architecture/refused-words.ts';
import { findCycle, reachable, readSources, type SourceFile } from '../test/architecture/source-graph.ts';

const files = readSources();
const product = files.filter(({ isTest }) => !isTest);
/** What runs on a machine of ours. */
const outsideTheBrowser = files.filter(({ path }) => !path.startsWith('web/'));
const below = (folder: string, of: SourceFile[] = product) => of.filter(({ path }) => path.startsWith(`${folder}/`));

/** Rooms at the top of the tree, and what each may import besides itself. */
const rooms: Record<string, string[]> = {
  src: [],
  migrations: [],
  activities: ['src'],
  workflows: ['src', 'activities'],
  api: ['src'],
  workers: ['src', 'activities', 'api'],
  local: ['src', 'workers'],
  // The client knows the service by its document alone.
  sdk: [],
  // The console calls the API as any client does.
  web: ['sdk'],
};

/** Order inside `src`: imports go leftward only. Features on one rung do not import each other. */
const rungs = [
  ['platform'],
  ['temporal'],
  ['foundation.ts'],
  ['tenancy'],
  ['accounts'],
  ['credits'],
  ['storage', 'providers', 'connections', 'tools'],
  ['webhooks'],
  ['jobs'],
  ['automation', 'studio', 'conversation', 'voice', 'integrations', 'scheduling'],
  ['operations'],
  ['services.ts'],
  ['cli'],
];
/** Features that no other feature uses. */
const features = rungs[9]!;
/** A folder that is not listed is a new feature. */
const rungOf = (path: string) => {
  const listed = rungs.findIndex((names) => names.includes(path.split('/')[1]!));
  return listed < 0 && path.split('/').length > 2 ? rungs.indexOf(features) : listed;
};

const isCore = (path: string) => /^src\/[^/]+\/core\//.test(path);
const breaches = (of: SourceFile[], rule: (file: SourceFile) => string[]) =>
  of.flatMap((file) => rule(file).map((what) => `${file.path}: ${what}`));
const ownImports = (file: SourceFile) => file.imports.filter(({ target }) => files.some(({ path }) => path === target));

describe('the house', () => {
  test('rooms import only what they may', () => {
    const found = breaches(product, (file) => {
      const room = file.path.split('/')[0]!;
      const allowed = rooms[room];
      if (!allowed) return file.path.includes('/') ? ['stands in no room'] : [];
      return ownImports(file)
        .map(({ target }) => target.split('/')[0]!)
        .filter((target) => target !== room && !allowed.includes(target));
    });
    expect(found).toEqual([]);
  });

  test('inside src imports go leftward, and features of one rung leave each other alone', () => {
    const found = breaches(below('src'), (file) =>
      ownImports(file)
        .filter(({ target }) => target.startsWith('src/') && !isCore(target))
        .filter(({ target }) => {
          const [from, to] = [rungOf(file.path), rungOf(target)];
          const sameFeature = file.path.split('/')[1] === target.split('/')[1];
          return from < 0 || to < 0 || isCore(file.path) || !(sameFeature || to < from);
        })
        .map(({ target }) => target),
    );
    expect(found).toEqual([]);
  });

  test('a part is entered through its door: index.ts, and its core', () => {
    const partOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1];
    const open = ['platform', 'temporal', 'cli'];
    const found = breaches(below('src'), (file) => {
      const from = partOf(file.path);
      if (from === undefined || open.includes(from)) return [];
      return ownImports(file)
        .map(({ target }) => target)
        .filter((target) => {
          const to = partOf(target);
          return to !== undefined && to !== from && !open.includes(to) && !isCore(target);
        })
        .filter((target) => !/^src\/[^/]+\/index\.ts$/.test(target));
    });
    expect(found).toEqual([]);
  });

  test('the product asks its own clock, so that tests can advance it', () => {
    // The times of files, of Temporal, of traces and of deadlines of gRPC calls are those of the machine.
    const machineTime =
      /^src\/(temporal\/|platform\/(clock|work-folder|mail-folder)\.ts|platform\/observability\/|storage\/part\.ts|webhooks\/retries\/restart-stalled-retries\.ts)/;
    const otherClocks = /\bDate\.now\(|\bnew Date\(\)|\bDateTime\.(now|utc|local)\(\)|\bclock_timestamp\(/;
    const asking = ['src', 'api', 'workers', 'activities'].flatMap((folder) => below(folder));
    const found = breaches(
      asking.filter(({ path }) => !machineTime.test(path)),
      ({ text }) => otherClocks.exec(text)?.slice(0, 1) ?? [],
    );
    expect(found).toEqual([]);
  });

  test('a core imports cores alone, and knows no clock, chance, process or network', () => {
    const pureLibraries = [
      '@marcbachmann/cel-js',
      '@marcbachmann/cel-js/evaluator',
      '@sindresorhus/slugify',
      'cron-parser',
      'date-holidays',
      'luxon',
    ];
    const impure = /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\.|\bfetch\(|\bcrypto\b/;
    const found = breaches(
      product.filter(({ path }) => isCore(path)),
      (file) => [
        ...file.imports
          .map(({ target }) => target)
          .filter((target) => !isCore(target) && !pureLibraries.includes(target)),
        ...(impure.exec(file.text) ?? []),
      ],
    );
    expect(found).toEqual([]);
  });

  test('workflows import the SDK, contracts, cores, and activities as types alone', () => {
    const found = breaches(below('workflows'), (file) =>
      file.imports
        .filter(({ target, value }) => {
          // What is typed in both worlds, search attributes for example, only the common part has.
          if (['@temporalio/workflow', '@temporalio/common'].includes(target)) return false;
          if (isCore(target) || target.startsWith('src/temporal/contracts/')) return false;
          return target.startsWith('workflows/') ? false : value || !target.startsWith('activities/');
        })
        .map(({ target }) => target),
    );
    expect(found).toEqual([]);
  });

  test('nothing of zod or of the database is reachable from workflows', () => {
    const loaded = reachable(files, ['workflows/index.ts']);
    expect([...loaded].filter((name) => /zod|mikro-orm|entities|^pg$|^node:/.test(name))).toEqual([]);
  });

  test('no module that workflows reach keeps state: all workflows of a thread share it', () => {
    const state = /^(?:export )?(?:(?:let|var) \w+|const \w+(?:: (?!Readonly)[^=]+)? = (?:new \w+|\[\]|\{\}))/gm;
    const statesIn = (text: string) => [...text.matchAll(state)].map(([found]) => found);
    const loaded = reachable(files, ['workflows/index.ts', 'workflows/trace.ts']);
    const found = files.filter(({ path }) => loaded.has(path)).flatMap(({ text }) => statesIn(text));
    expect(found).toEqual([]);
    expect(
      statesIn(
        'let count = 0;\nconst seen = new Map();\nexport const kept: string[] = [];\nfunction f() {\n  let own;\n}\n',
      ),
    ).toHaveLength(3);
  });

  test('a feature is named in at most five files outside its own folders', () => {
    const shared = ['src/services.ts', 'api/mounts.ts', 'workers/roles.ts', 'workflows/index.ts', 'test/things.ts'];
    // Surfaces on which features meet.
    shared.push('api/routes/mcp/tools.ts', 'api/routes/openai/feature.ts');
    // Ids and codes that the published interface writes in two forms are named where dialects are defined.
    // The console lists its pages once.
    const exceptions = ['api/dialects/variants.ts', 'web/src/router.tsx'];
    const found = features.flatMap((feature) => {
      const isOwn = (path: string) =>
        new RegExp(`(^|/)${feature}(/|\\.ts$)`).test(path) || /^(workflows|activities)\/(?!index\.ts)/.test(path);
      const isOutside = (path: string) =>
        !isOwn(path) && !/^(bench|docs|test)\//.test(path) && !path.endsWith('.test.ts');
      return files
        .filter(({ path }) => isOutside(path) || path === 'test/things.ts')
        .filter((file) => ownImports(file).some(({ target }) => isOwn(target) && target !== file.path))
        .map(({ path }) => path)
        .filter((path) => !shared.includes(path) && !exceptions.includes(path))
        .filter((path) => !/^(workflows|activities)\//.test(path))
        .map((path) => `${feature}: ${path}`);
    });
    expect(found).toEqual([]);
  });

  test('tests next to the code start no server and no process of the product', () => {
    const besideCode = files.filter(({ path }) => /^(src|api|bench|security)\/.*\.test\.ts$/.test(path));
    const found = breaches(besideCode, ({ path }) =>
      [...reachable(files, [path])].filter((name) => /^test\/(servers|product|product-process)\.ts$/.test(name)),
    );
    expect(found).toEqual([]);
  });

  test('packages that are imported are declared', () => {
    const { name, dependencies, devDependencies } = packageJson;
    const declared = new Set([name, ...Object.keys(dependencies), ...Object.keys(devDependencies)]);
    const packageOf = (target: string) =>
      target
        .split('/')
        .slice(0, target.startsWith('@') ? 2 : 1)
        .join('/');
    const isOurs = (target: string) =>
      target.startsWith('node:') || existsSync(target) || /\.(m?ts|json)$/.test(target);
    // These have packages of their own.
    const apart = /^(test\/machine\/generated-client|sdk\/typescript\/generator)\//;
    const ours = files.filter(({ path }) => !apart.test(path));
    const found = breaches(ours, ({ imports }) =>
      imports.map(({ target }) => target).filter((target) => !isOurs(target) && !declared.has(packageOf(target))),
    );
    expect(found).toEqual([]);
  });

  test('the client imports nothing but its own files', () => {
    const found = breaches(below('sdk/typescript/src'), ({ imports }) =>
      imports.map(({ target }) => target).filter((target) => !target.startsWith('sdk/typescript/src/')),
    );
    expect(found).toEqual([]);
  });

  test('nothing imports in a circle', () => {
    expect(findCycle(files)).toBeUndefined();
  });

  test('no file is longer than 500 lines', () => {
    expect(files.filter(({ lines }) => lines > 500).map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
  });

  test('a folder has at most 30 source files: a larger one is divided by what a reader looks for', () => {
    // Lists, in which a reader looks for one entry.
    const isList = (folder: string) => /\/core$/.test(folder) || ['migrations', 'bench/items'].includes(folder);
    const counts = new Map<string, number>();
    for (const { path } of files.filter((file) => !file.path.endsWith('.test.ts'))) {
      const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([folder, count]) => count > 30 && !isList(folder))).toEqual([]);
  });

  test('no literal is spread into a literal', () => {
    expect(spreadLiterals(files)).toEqual([]);
    const file = { path: 'src/bad.ts', text: 'f(...[1]);\nx = { ...{ a },\n ...(b ? { c } : {}) };\n' };
    expect(spreadLiterals([{ ...file, lines: 3, imports: [], isTest: false }])).toEqual([
      'src/bad.ts:1',
      'src/bad.ts:2',
    ]);
  });

  test('identifiers have no words that the glossary refuses', () => {
    expect(refusedNames(files.filter(({ path }) => !path.startsWith('migrations/')))).toEqual([]);
    const text = 'class A { #toldTimes = 1 }\nconst takeTurn = returned, mostBytes = x.overdueAtOnce;\n// turn\n';
    expect(refusedNames([{ path: 'src/bad.ts', text }])).toEqual([
      'src/bad.ts:1: toldTimes',
      'src/bad.ts:2: mostBytes',
      'src/bad.ts:2: overdueAtOnce',
    ]);
  });

  test('comments are sentences with a subject, and do not begin with "Of"', () => {
    expect(commentsThatBeginWithOf(files)).toEqual([]);
    const of = 'Of';
    const text = `/** ${of} the run. */\nconst a = 1; // ${of} it.\n/**\n * ${of} both.\n */\n// Offers.\n`;
    expect(commentsThatBeginWithOf([{ path: 'src/bad.ts', text }])).toEqual([
      'src/bad.ts:1',
      'src/bad.ts:2',
      'src/bad.ts:4',
    ]);
  });

  test('private members are private at run time', () => {
    const found = files.filter(({ text }) => /^ +private (?!constructor\b)[\w ]+[(:=;<]/m.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  test('whether a JSON value is an object is said once', () => {
    const found = [...below('src'), ...below('api'), ...below('activities'), ...below('workers')].filter(({ text }) =>
      /=== 'object' &&[^\n]*!Array\.isArray\(/.test(text),
    );
    expect(found.map(({ path }) => path)).toEqual(['src/platform/core/json-shapes.ts']);
  });

  test('names say what is inside', () => {
    const banned = ['utils', 'util', 'common', 'helpers', 'lib', 'misc', 'shared', 'types'];
    const found = files.filter(({ path }) =>
      path.split('/').some((part) => banned.includes(part.replace(/\..*$/, ''))),
    );
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  test('the environment is read in one file', () => {
    const found = outsideTheBrowser.filter(
      ({ path, text }) => path !== 'src/platform/env.ts' && /\bprocess\.env\b/.test(text),
    );
    expect(found.map(({ path }) => path).filter((path) => path !== 'src/architecture.test.ts')).toEqual([]);
  });

  test('only egress and providers reach out', () => {
    const allowed = (path: string) => path === 'src/platform/egress/egress.ts' || path.startsWith('src/providers/');
    const found = outsideTheBrowser.filter(
      ({ path, text, isTest }) => !isTest && !allowed(path) && /\bfetch\(/.test(text.replaceAll('app.fetch', '')),
    );
    expect(found.map(({ path }) => path)).toEqual([]);
    const withUndici = product.filter(({ imports }) => imports.some(({ target }) => target === 'undici'));
    expect(withUndici.filter(({ path }) => !path.startsWith('src/platform/egress')).map(({ path }) => path)).toEqual(
      [],
    );
  });

  test('nothing but a scope makes the key of a tenant in shared pools', () => {
    const found = files.filter(
      ({ text, isTest }) => !isTest && /\bas (unknown as )?(Tenant|Environment)Key\b/.test(text),
    );
    expect(found.map(({ path }) => path)).toEqual(['src/platform/database/scope.ts']);
  });

  test('every regular expression takes linear time', () => {
    const expressions = expressionsOf(product);
    expect(expressions.length).toBeGreaterThan(200);
    expect(nonlinear(expressions)).toEqual([]);
  });

  test('the check of regular expressions names what is not linear', () => {
    const text = "export const wrong = /^\\s*```(a*)*\\n/m;\nconst composed = new RegExp('x' + `(a|a)*$`, 'i');\n";
    const file = { path: 'src/bad.ts', text, lines: 2, imports: [], isTest: false };
    const found = nonlinear(expressionsOf([file]), new Set());
    expect(found).toEqual([
      expect.stringMatching(/^src\/bad\.ts:1: .* is exponential$/),
      expect.stringMatching(/^src\/bad\.ts:2: \/x\(a\|a\)\*\$\/i is exponential$/),
    ]);
  });
});
