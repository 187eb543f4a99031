import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seed } from '../../../test/fuzz/seed.ts';
import { openBoundedWork } from '../../../test/platform/open-bounded-work.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { processorMs } from '../../../test/processor-time.ts';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { makeInstance } from '../../providers/sandbox/text-model.ts';
import { isProvedCheap, parseExpression, stepVariables } from '../core/expression.ts';
import { findSchemaExcess } from '../core/schema-limits.ts';
import { checkAnswer, checkForm, checkSchema, evaluateExpression } from './bounded-tasks.ts';
import { type Evaluation, perform } from './evaluate-expression.ts';

/** Generous: processes for bounded work have a low priority, and other test files keep the machine busy. */
const maxMs = 60_000;
/** A process that is replaced may take as long to start. */
const patient = { waitMs: maxMs };
/** Node.js itself, the libraries, a heap of 88 MiB, and what the garbage collector needs besides. */
const maxMebibytes = 280;

let work: BoundedWork;
beforeAll(() => {
  work = openBoundedWork();
});
afterAll(() => work.close());

const status = (pid: number | string) => readFileSync(`/proc/${pid}/status`, 'utf8');
const memoryOf = (pid: number | string) => Number(/VmHWM:\s+(\d+)/.exec(status(pid))?.[1] ?? 0) / 1024;
function poolMemory(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
  return Math.max(
    0,
    ...children.filter(Boolean).map((pid) => {
      try {
        return memoryOf(pid);
      } catch {
        return 0;
      }
    }),
  );
}

/** Performs a task, and holds it and the processes to their bounds. @returns undefined when it was given up */
async function within<Result>(run: () => Promise<Result>): Promise<Result | undefined> {
  const startedAt = performance.now();
  try {
    return await run();
  } catch (error) {
    expect(error).toBeInstanceOf(WorkTooCostly);
    return undefined;
  } finally {
    expect(performance.now() - startedAt).toBeLessThan(maxMs);
    expect(poolMemory()).toBeLessThan(maxMebibytes);
  }
}

const leaf = fc.constantFrom(
  'input',
  'variables.list',
  'variables.text',
  'x',
  'y',
  '"a"',
  '2.0',
  '[1, 2, 3]',
  'steps.s.output',
);
const expressions = fc.letrec<{ expression: string }>((tie) => {
  const inner = tie('expression');
  const joined = (...parts: (string | fc.Arbitrary<string>)[]) =>
    fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((all) => all.join(''));
  const loop = fc.constantFrom('map', 'filter', 'all', 'exists', 'exists_one');
  return {
    expression: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      leaf,
      joined('(', inner, ' + ', inner, ')'),
      joined(inner, '.', loop, '(x, ', inner, ')'),
      joined(inner, '.', loop, '(y, ', inner, ')'),
      joined('cel.bind(x, ', inner, ', ', inner, ')'),
      joined('(', inner, ' in ', inner, ')'),
      joined('(', inner, ' == ', inner, ')'),
      joined('[', inner, ', ', inner, ']'),
      joined(inner, '.split("")'),
      joined(inner, '.join(', inner, ')'),
      joined(inner, '.contains(', inner, ')'),
      joined('string(', inner, ')'),
      joined('size(', inner, ')'),
      joined('bytes(', inner, ')'),
      joined('duration(', inner, ')'),
    ),
  };
}).expression;

const values = (elements: number, characters: number): Evaluation['values'] => ({
  input: Array.from({ length: elements }, (_, index) => index),
  variables: { list: Array.from({ length: elements }, () => 'a'), text: '1'.repeat(characters) },
  steps: { s: [{ deep: [{ deeper: 'x' }] }, 'a', 1] },
});

describe('within the limits of what may be saved', () => {
  test('any expression ends soon, and takes no more memory than it may', async () => {
    const small = { source: '1', kind: 'transform' as const, variables: stepVariables, values: values(0, 0) };
    await work.run(evaluateExpression, tenantKeyOf('warm-up'), small, patient);
    await fc.assert(
      fc.asyncProperty(expressions, fc.constantFrom(10, 1_000, 50_000), async (source, size) => {
        const evaluation = {
          source,
          kind: 'transform' as const,
          variables: stepVariables,
          values: values(size, size * 10),
        };
        const evaluated = await within(() => work.run(evaluateExpression, tenantKeyOf('one'), evaluation, patient));
        expect(evaluated === undefined || 'output' in evaluated || 'problem' in evaluated).toBe(true);
      }),
      { numRuns: 50, seed },
    );
  });

  test('what is proved cheap is cheap', () => {
    let proved = 0;
    fc.assert(
      fc.property(expressions, fc.constantFrom(0, 10, 300, 5_000), (source, size) => {
        const given = values(size, size);
        let parsed: ReturnType<typeof parseExpression>;
        try {
          parsed = parseExpression(source, 'transform');
        } catch {
          return;
        }
        if (!isProvedCheap(parsed, given)) return;
        proved++;
        const evaluation = { source, kind: 'transform' as const, variables: stepVariables, values: given };
        expect(processorMs(() => perform(evaluation), 500)).toBeLessThan(500);
      }),
      { numRuns: 2_000, seed },
    );
    expect(proved).toBeGreaterThan(100);
  });

  test('any schema is compiled or refused soon, the sandbox answers it or gives up, and so does a check of answers', async () => {
    const reference = fc.nat(4).map((index) => ({ $ref: `#/$defs/d${index}` }));
    const schemas = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        reference,
        fc.record({ type: fc.constant('string'), minLength: fc.constantFrom(0, 10, 100_000, 1e9) }),
        fc.record({
          type: fc.constant('string'),
          pattern: fc.constantFrom('^a+$', '(.?){40}y$', '^\\pL{500}N', '(a|b)*c{200}'),
        }),
        fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.constantFrom(0, 3, 10_000) }),
        fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 4 }) }),
        fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 4 }) }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('schema')).map((properties) => ({
          type: 'object',
          properties,
          required: Object.keys(properties),
        })),
      ),
    })).schema;
    await fc.assert(
      fc.asyncProperty(schemas, fc.array(schemas, { minLength: 5, maxLength: 5 }), async (root, defs) => {
        const $defs = Object.fromEntries(defs.map((def, index) => [`d${index}`, def]));
        const schema = { allOf: [root], $defs };
        if (findSchemaExcess(schema, JSON.stringify(schema).length)) return;
        const problem = await within(() => work.run(checkSchema, tenantKeyOf('one'), schema, patient));
        if (problem !== null) return;
        const instance = await within(() =>
          work.run(makeInstance, tenantKeyOf('one'), { schema, text: 'x'.repeat(1_000) }, patient),
        );
        if (instance !== undefined) expect(instance.length).toBeLessThan(4 * 1024 * 1024);
        const answers = [
          '{"a": {"b": [{"c": "aaa"}]}, "d": [[["a"]]]}',
          `[${'"a",'.repeat(60_000)}"a"]`,
          instance ?? 'null',
        ];
        for (const answer of answers.filter(({ length }) => length <= 256 * 1024)) {
          const wrong = await within(() => work.run(checkAnswer, tenantKeyOf('one'), { schema, answer }, patient));
          expect(wrong === undefined || wrong === null || typeof wrong === 'string').toBe(true);
        }
      }),
      { numRuns: 25, seed },
    );
  });
});

test.each([
  ['{"properties":{"__proto__":{"type":"integer"}}}', '{"__proto__":"x"}', 'values.__proto__'],
  ['{"properties":{"__proto__":{"type":"integer"}},"additionalProperties":false}', '{"__proto__":3}'],
  [
    '{"patternProperties":{"^__proto__$":{"minimum":3}},"properties":{"a":{"properties":{"__proto__":{"type":"null"}}},"__proto__":{}}}',
    '{"__proto__":1,"a":{"__proto__":2}}',
    'values.a.__proto__',
    'values.__proto__',
  ],
  ['{"properties":{"a":{"const":{"properties":{"__proto__":1}}}}}', '{"a":{"properties":{"__proto__":1}}}'],
  ['{"required":["__proto__","toString"]}', '{}', 'values.__proto__'],
  ['{"required":["toString"]}', '{}', 'values.toString'],
  ['{"properties":{"constructor":{"type":"string"}}}', '{}'],
])('properties of a form have any name: %s and %s', async (schema, values, ...paths) => {
  const asked = { schema: JSON.parse(schema), values: JSON.parse(values) };
  const problems = await work.run(checkForm, tenantKeyOf('one'), asked, patient);
  expect(problems.map(({ path }) => path)).toEqual(paths.slice(0, 1));
});
