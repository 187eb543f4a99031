import type { Role } from '../session/session.ts';

/** The pages of the console in the order of the navigation. */
export const pages: readonly { path: string; title: string; needs?: Role }[] = [
  { path: '/overview', title: 'Overview' },
  { path: '/runs', title: 'Runs' },
  { path: '/inbox', title: 'Inbox' },
  { path: '/workflows', title: 'Workflows' },
  { path: '/templates', title: 'Templates' },
  { path: '/webhooks', title: 'Webhooks' },
  { path: '/studio', title: 'Studio' },
  { path: '/playground', title: 'Playground' },
  { path: '/scheduling', title: 'Scheduling' },
  { path: '/integrations', title: 'Integrations' },
  { path: '/secrets', title: 'Secrets', needs: 'member' },
  { path: '/keys', title: 'Keys' },
  { path: '/usage', title: 'Usage' },
  { path: '/members', title: 'Members' },
  { path: '/audit', title: 'Audit log' },
];
