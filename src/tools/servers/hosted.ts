import type { ToolServer } from './server.ts';
import { found, page, text, textOf } from './stub-answers.ts';

const token = (of: string) => ({ token: { description: of, required: true } });

export const github: ToolServer = {
  id: 'github',
  name: 'GitHub',
  description: 'Reads repositories, issues and files, through the server of GitHub.',
  secrets: token('A personal access token.'),
  url: 'optional',
  live: { kind: 'remote', address: () => 'https://api.githubcopilot.com/mcp/', authorize: { bearer: 'token' } },
  stubs: [
    {
      name: 'search_repositories',
      description: 'Find repositories by name, description or topic.',
      input: { query: text('What to search for.') },
      required: ['query'],
      readOnly: true,
      answer: (args) => found(args, 'query', 'full_name', ['example/atelier', 'example/tools']),
    },
    {
      name: 'get_file_contents',
      description: 'Get the contents of a file of a repository.',
      input: { owner: text(), repo: text(), path: text() },
      required: ['owner', 'repo'],
      readOnly: true,
      answer: (args) => page(`${textOf(args, 'owner')}/${textOf(args, 'repo')}/${textOf(args, 'path')}`),
    },
    {
      name: 'issue_read',
      description: 'Get an issue.',
      input: { owner: text(), repo: text(), issue_number: { type: 'integer' }, method: text() },
      required: ['owner', 'repo', 'issue_number'],
      readOnly: true,
      answer: (args) =>
        JSON.stringify({ number: args.issue_number ?? 1, title: 'An issue of the sandbox', state: 'open' }),
    },
    {
      name: 'list_issues',
      description: 'List the issues of a repository.',
      input: { owner: text(), repo: text() },
      required: ['owner', 'repo'],
      readOnly: true,
      answer: () => JSON.stringify({ issues: [{ number: 1, title: 'An issue of the sandbox', state: 'open' }] }),
    },
  ],
};

export const slack: ToolServer = {
  id: 'slack',
  name: 'Slack',
  description: 'Searches and sends messages, through the server of Slack.',
  secrets: token('A user token of Slack.'),
  url: 'optional',
  live: { kind: 'remote', address: () => 'https://mcp.slack.com/mcp', authorize: { bearer: 'token' } },
  stubs: [
    {
      name: 'slack_search_public',
      description: 'Search messages and files in public channels.',
      input: { query: text('What to search for.') },
      required: ['query'],
      readOnly: true,
      answer: (args) => found(args, 'query', 'text', ['Welcome to the sandbox.']),
    },
    {
      name: 'slack_send_message',
      description: 'Send a message to a channel or a person.',
      input: { channel_id: text(), message: text() },
      required: ['channel_id', 'message'],
      readOnly: false,
      answer: (args) =>
        JSON.stringify({ ok: true, channel: textOf(args, 'channel_id'), text: textOf(args, 'message') }),
    },
  ],
};

export const notion: ToolServer = {
  id: 'notion',
  name: 'Notion',
  description: 'Searches and reads pages, through the server of Notion.',
  secrets: token('A token of Notion.'),
  url: 'optional',
  live: { kind: 'remote', address: () => 'https://mcp.notion.com/mcp', authorize: { bearer: 'token' } },
  stubs: [
    {
      name: 'notion-search',
      description: 'Search the workspace.',
      input: { query: text('What to search for.') },
      required: ['query'],
      readOnly: true,
      answer: (args) => found(args, 'query', 'title', ['A page of the sandbox']),
    },
    {
      name: 'notion-fetch',
      description: 'Get a page or a database by its id or address.',
      input: { id: text() },
      required: ['id'],
      readOnly: true,
      answer: (args) => page(textOf(args, 'id')),
    },
  ],
};

export const googleDrive: ToolServer = {
  id: 'google-drive',
  name: 'Google Drive',
  description: 'Searches and reads files, through the server of Google.',
  values: { clientId: { description: 'The OAuth client that the refresh token was issued to.', required: true } },
  secrets: {
    refreshToken: { description: 'A refresh token with the scope drive.readonly.', required: true },
    clientSecret: { description: 'The secret of the OAuth client.', required: true },
    token: { description: 'Sent as a bearer token to a `url` of your own.' },
  },
  url: 'optional',
  live: { kind: 'remote', address: () => 'https://drivemcp.googleapis.com/mcp/v1', authorize: 'google' },
  stubs: [
    {
      name: 'search_files',
      description: 'Search files.',
      input: { query: text('What to search for.') },
      required: ['query'],
      readOnly: true,
      answer: (args) => found(args, 'query', 'name', ['A file of the sandbox.txt']),
    },
    {
      name: 'read_file_content',
      description: 'Read the content of a file.',
      input: { fileId: text() },
      required: ['fileId'],
      readOnly: true,
      answer: (args) => page(textOf(args, 'fileId')),
    },
  ],
};

const region = /^[a-z]{2}(-[a-z]+)+-\d$/;

export const aws: ToolServer = {
  id: 'aws',
  name: 'AWS',
  description: 'Calls the services of AWS, through its server. Requests are signed with the given credentials.',
  values: {
    region: {
      description: 'The region of the server; us-east-1 by default.',
      pattern: region,
      maxLength: 40,
      decidesAddress: true,
    },
  },
  secrets: {
    accessKeyId: { description: 'The access key id of a role with the least permissions.', required: true },
    secretAccessKey: { description: 'Belongs to `accessKeyId`.', required: true },
    sessionToken: { description: 'The session token of temporary credentials.' },
    token: { description: 'Sent as a bearer token to a `url` of your own.' },
  },
  url: 'optional',
  live: {
    kind: 'remote',
    address: ({ region: of = 'us-east-1' }) => `https://aws-mcp.${of}.api.aws/mcp`,
    authorize: 'aws',
  },
  stubs: [
    {
      name: 'call_aws',
      description: 'Run one command of the AWS CLI.',
      input: { cli_command: text('Such as `aws s3api list-buckets`.') },
      required: ['cli_command'],
      readOnly: false,
      answer: (args) => JSON.stringify({ command: textOf(args, 'cli_command'), output: { Buckets: [] } }),
    },
  ],
};
