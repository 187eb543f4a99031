import { z } from '@hono/zod-openapi';
import { isJsonObject } from '../../../src/platform/core/json-shapes.ts';
import { toolServerIds } from '../../../src/tools/core/server-ids.ts';

const maxFields = 20;

/** An object whose members are strings, or null for those to remove. */
const changes = (description: string) =>
  z
    .custom<Record<string, string | null>>(isJsonObject, 'Expected an object.')
    .superRefine((record, context) => {
      const names = Object.keys(record);
      if (names.length > maxFields)
        context.addIssue({ code: 'custom', message: `Expected at most ${maxFields} fields.` });
      for (const name of names.slice(0, maxFields)) {
        const value: unknown = record[name];
        if (typeof value === 'string' || value === null) continue;
        context.addIssue({ code: 'custom', path: [name], message: 'Expected a string.' });
      }
    })
    .openapi({
      type: 'object',
      maxProperties: maxFields,
      additionalProperties: { type: ['string', 'null'] },
      description,
    });

export const serverInPath = z.object({
  serverId: z.string().openapi({
    param: { name: 'serverId', in: 'path', example: 'github' },
    description: `One of ${toolServerIds.join(', ')}.`,
  }),
});

export const toolServerChangeSchema = z
  .object({
    enabled: z
      .boolean()
      .optional()
      .openapi({ description: 'Default true. With false, requests and steps cannot use it.' }),
    url: z
      .string()
      .max(2_048, 'Expected at most 2048 characters.')
      .nullable()
      .optional()
      .openapi({
        type: ['string', 'null'],
        description:
          'A server of your own that speaks the Model Context Protocol over streamable HTTP, at a public address. ' +
          'Null: the address of the provider.',
      }),
    values: changes('Settings that are not secret, by name. Null removes one.').optional(),
    secrets: changes(
      'Credentials, by name. They are stored encrypted and never shown. Null removes one. A request that changes the address they are sent to must include every secret again.',
    ).optional(),
  })
  .openapi('ToolServerChange', {
    description:
      'Omitted members stay unchanged. The server determines which values, secrets and address are allowed and which are required.',
  });

export const toolServerSchema = z
  .object({
    id: z.enum(toolServerIds),
    name: z.string(),
    description: z.string(),
    configured: z.boolean().openapi({ description: 'Always true with a test key: the sandbox has every server.' }),
    enabled: z.boolean(),
    url: z.string().nullable(),
    values: z.record(z.string(), z.string()),
    secrets: z.array(z.string()).openapi({ description: 'Names of the stored secrets.' }),
    functions: z.array(z.string()).nullable().openapi({
      description: 'Names of its functions. Null until the server has listed them.',
    }),
    updatedAt: z.iso.datetime().nullable().openapi({ description: 'Null if it was never configured.' }),
  })
  .openapi('ToolServer');

export const toolServerListSchema = z.object({ servers: z.array(toolServerSchema) });

const alike = <Value>(value: Value) => ({ A: value, B: value });

export const toolServerChangeExamples = alike({ enabled: true });
const shown = {
  id: 'github' as const,
  name: 'GitHub',
  configured: true,
  enabled: true,
  url: null,
  values: {},
  description: 'Reads repositories, issues and files, through the server of GitHub.',
  secrets: ['token'],
  functions: ['search_repositories', 'get_file_contents', 'issue_read', 'list_issues'],
  updatedAt: '2026-11-21T09:30:00.000Z',
};
export const toolServerExamples = alike(shown);
export const toolServerListExamples = alike({ servers: [shown] });
