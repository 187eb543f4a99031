import type { ToolServer } from './server.ts';
import { page, text, textOf } from './stub-answers.ts';

const bearer = { token: { description: 'Sent as a bearer token.' } };

/** Pages are opened where the organization runs the browser, never on this machine. */
export const puppeteer: ToolServer = {
  id: 'puppeteer',
  name: 'Browser',
  description: 'Opens pages in a browser of the organization, which serves the Model Context Protocol at `url`.',
  secrets: bearer,
  url: 'required',
  live: { kind: 'remote', authorize: { bearer: 'token' } },
  stubs: [
    {
      name: 'browser_navigate',
      description: 'Open a page.',
      input: { url: text('Address of the page.') },
      required: ['url'],
      readOnly: false,
      answer: (args) => `Opened ${textOf(args, 'url')}`,
    },
    {
      name: 'browser_snapshot',
      description: 'Describe the page that is open.',
      input: {},
      readOnly: true,
      answer: () => page('about:blank'),
    },
  ],
};

/** Control of a Docker engine is control of its machine, so it is never one of this installation. */
export const docker: ToolServer = {
  id: 'docker',
  name: 'Docker',
  description: 'Controls an engine of the organization, which serves the Model Context Protocol at `url`.',
  secrets: bearer,
  url: 'required',
  live: { kind: 'remote', authorize: { bearer: 'token' } },
  stubs: [
    {
      name: 'list_containers',
      description: 'List containers.',
      input: {},
      readOnly: true,
      answer: () => JSON.stringify([{ id: 'sandbox0001', name: 'web', status: 'running' }]),
    },
  ],
};
