import { JsonRefused, parseJson } from '../../platform/core/bounded-json.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import { EgressFailure } from '../../platform/egress/egress-failure.ts';
import type { StoredConfiguration } from '../configurations.ts';
import { failedResult, type ToolResult } from '../core/tool-result.ts';
import type { JsonObject, ListedTool, ToolConnection } from '../tool.ts';

const deadlineMs = 20_000;
const maxResponseBytes = 2 * 1024 * 1024;
const maxResults = 20;
const usualResults = 5;
const maxQueryLength = 400;

const search: ListedTool = {
  tool: 'search',
  description: 'Search the web. Gives titles, addresses and extracts.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to search for.', maxLength: maxQueryLength },
      count: { type: 'integer', minimum: 1, maximum: maxResults, description: `By default ${usualResults}.` },
    },
    required: ['query'],
  },
  idempotent: true,
};

interface Found {
  title?: unknown;
  url?: unknown;
  text?: unknown;
}

interface Engine {
  request(
    query: string,
    count: number,
    apiKey: string,
  ): Pick<Parameters<Egress['request']>[0], 'url' | 'method' | 'headers' | 'body'>;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of another service, of which only texts are taken
  results(body: any): Found[];
}

const engines: Record<string, Engine> = {
  brave: {
    request: (query, count, apiKey) => ({
      url: `https://api.search.brave.com/res/v1/web/search?${new URLSearchParams({ q: query, count: String(count) })}`,
      method: 'GET',
      headers: { accept: 'application/json', 'x-subscription-token': apiKey },
    }),
    results: (body) =>
      (body?.web?.results ?? []).map((one: JsonObject) => ({ title: one.title, url: one.url, text: one.description })),
  },
  tavily: {
    request: (query, count, apiKey) => ({
      url: 'https://api.tavily.com/search',
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ query, max_results: count }),
    }),
    results: (body) =>
      (body?.results ?? []).map((one: JsonObject) => ({ title: one.title, url: one.url, text: one.content })),
  },
};

/** Searches with the organization's key for Brave or Tavily. */
export class WebSearchConnection implements ToolConnection {
  readonly isOpen = true;
  readonly #engine: Engine;
  readonly #apiKey: string;
  readonly #egress: Pick<Egress, 'request'>;

  constructor({ values, secrets }: Pick<StoredConfiguration, 'values' | 'secrets'>, egress: Pick<Egress, 'request'>) {
    this.#engine = engines[values.engine ?? 'brave']!;
    this.#apiKey = secrets.apiKey ?? '';
    this.#egress = egress;
  }

  async list(): Promise<ListedTool[]> {
    return [search];
  }

  async call(tool: string, { query, count = usualResults }: JsonObject, signal: AbortSignal): Promise<ToolResult> {
    if (tool !== search.tool) return failedResult(`There is no tool ${tool}.`);
    if (typeof query !== 'string' || query.trim() === '' || query.length > maxQueryLength) {
      return failedResult(`query: expected 1 to ${maxQueryLength} characters.`);
    }
    if (!Number.isInteger(count) || Number(count) < 1 || Number(count) > maxResults) {
      return failedResult(`count: expected an integer from 1 to ${maxResults}.`);
    }
    try {
      const request = this.#engine.request(query, Number(count), this.#apiKey);
      const answer = await this.#egress.request({ ...request, deadlineMs, maxResponseBytes, signal });
      if (answer.status !== 200) return failedResult(`The search failed with status ${answer.status}.`);
      const results = this.#engine.results(parseJson(answer.body, maxResponseBytes)).slice(0, Number(count));
      return { text: JSON.stringify({ results }), isError: false };
    } catch (error) {
      if (error instanceof EgressFailure) return failedResult(`The search failed: ${error.message}`);
      if (error instanceof JsonRefused || error instanceof TypeError)
        return failedResult('The search gave no readable answer.');
      throw error;
    }
  }

  async close(): Promise<void> {}
}
