import type { ToolServer } from './server.ts';
import { found, text, textOf } from './stub-answers.ts';

/** The organization's database. src/tools/own/postgres.ts queries it. */
export const postgres: ToolServer = {
  id: 'postgres',
  name: 'PostgreSQL',
  description: 'Queries a PostgreSQL database: one statement at a time, read only, over TLS.',
  secrets: {
    dsn: {
      description: 'postgres://user:password@host:port/database of a login that may read only. Parameters are refused.',
      required: true,
    },
    ca: {
      description: 'Certificates (PEM) that the server is checked with, where no public authority signed its own.',
      maxLength: 32_768,
    },
  },
  url: 'none',
  live: { kind: 'own', client: 'postgres' },
  functions: ['query', 'list_tables'],
  stubs: [
    {
      name: 'query',
      description: 'Run one statement that reads.',
      input: { sql: text('One statement.') },
      required: ['sql'],
      readOnly: true,
      answer: (args) => JSON.stringify({ rows: [{ statement: textOf(args, 'sql') }], rowCount: 1 }),
    },
    {
      name: 'list_tables',
      description: 'List the tables.',
      input: {},
      readOnly: true,
      answer: () => JSON.stringify([{ schema: 'public', table: 'customer' }]),
    },
  ],
};

/** src/tools/own/web-search.ts queries it. */
export const webSearch: ToolServer = {
  id: 'web-search',
  name: 'Web search',
  description: 'Searches the web with Brave or Tavily.',
  values: {
    engine: {
      description: 'Where to search: brave by default.',
      choices: ['brave', 'tavily'],
      decidesAddress: true,
    },
  },
  secrets: {
    apiKey: { description: 'The API key of that engine.', required: true },
    token: { description: 'Sent as a bearer token to a `url` of your own.' },
  },
  url: 'optional',
  live: { kind: 'own', client: 'web-search' },
  functions: ['search'],
  stubs: [
    {
      name: 'search',
      description: 'Search the web.',
      input: { query: text('What to search for.'), count: { type: 'integer', description: '1 to 20, by default 5.' } },
      required: ['query'],
      readOnly: true,
      answer: (args) => found(args, 'query', 'title', ['A page of the sandbox', 'Another page']),
    },
  ],
};
