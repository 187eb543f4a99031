import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from '@jest/globals';
import { clientDocument } from '../../sdk/typescript/generator/client-document.ts';
import { writeResources } from '../../sdk/typescript/generator/resources.ts';
import { Atelier } from '../../sdk/typescript/src/index.ts';
import { type Json, readDocument } from '../openapi/document.ts';
import { printDocument } from '../openapi/printed-document.ts';

const sources = fileURLToPath(new URL('../../sdk/typescript/src/', import.meta.url));
const read = (path: string) => readFileSync(`${sources}${path}`, 'utf8');

let document: Json;
let ofClient: Json;
beforeAll(async () => {
  document = JSON.parse(await printDocument());
  ofClient = clientDocument(document);
});

test('the generated sources are those of the document: npm run client:generate makes them anew', () => {
  const isExtended = (file: string) => existsSync(`${sources}resources/${file}`);
  const written = writeResources(ofClient, { isExtended });
  expect(readdirSync(`${sources}generated/resources`).toSorted()).toEqual([...written.keys()].toSorted());
  for (const [file, text] of written)
    expect({ file, text: read(`generated/resources/${file}`) }).toEqual({ file, text });
  const hash = createHash('sha256').update(JSON.stringify(ofClient)).digest('hex');
  expect(read('generated/document.sha256')).toBe(`${hash}\n`);
});

test('every operation has its method, with its description as docstring', () => {
  const atelier = new Atelier({ baseUrl: 'http://127.0.0.1:1' });
  const { operations } = readDocument(document);
  const resources = readdirSync(`${sources}generated/resources`).map((file) => read(`generated/resources/${file}`));
  const words = (text: string) => text.replaceAll(/[\s*]+/g, '');
  const docstrings = words(resources.join('\n'));
  const lacking = operations.filter(({ operation }) => {
    const found = operation['x-client-method'].split('.').reduce((at: Json, word: string) => at?.[word], atelier);
    return typeof found !== 'function' || !docstrings.includes(words(`${operation.summary}.${operation.description}`));
  });
  expect(operations.length).toBeGreaterThan(100);
  expect(lacking.map(({ endpoint }) => endpoint)).toEqual([]);
});

test('the union of webhook events has every event that the document describes', () => {
  const { WebhookEvent: union } = ofClient.components.schemas;
  const typesOf = ({ $ref }: { $ref: string }) => {
    const { type } = ofClient.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)].properties;
    return type.enum ?? [type.const];
  };
  expect(union.oneOf.flatMap(typesOf).toSorted()).toEqual(Object.keys(document.webhooks).toSorted());
});
