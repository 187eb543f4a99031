import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { filters, type RootSearch } from './layout/address.ts';
import { NotFound } from './layout/not-found.tsx';
import { PageProblem } from './layout/page-problem.tsx';
import { Shell } from './layout/shell.tsx';

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>): RootSearch => (search.env === 'live' ? { env: 'live' } : {}),
  // The environment goes along with every link.
  search: {
    middlewares: [
      ({ search, next }) => {
        const result = next(search);
        return search.env && !('env' in result) ? { ...result, env: search.env } : result;
      },
    ],
  },
});

const page = <const Path extends string>(path: Path, load: () => Promise<{ default: () => React.ReactNode }>) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: filters,
    component: lazyRouteComponent(load),
    // Forms of one record would be those of the next one: the search leads from one to another.
    remountDeps: ({ params }) => params,
  });

const routes = [
  createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: '/runs' });
    },
  }),
  page('/runs', () => import('./pages/runs/run-list.tsx')),
  page('/runs/$runId', () => import('./pages/runs/run.tsx')),
  page('/inbox', () => import('./pages/inbox/inbox.tsx')),
  page('/webhooks', () => import('./pages/webhooks/webhook-list.tsx')),
  page('/webhooks/$webhookId', () => import('./pages/webhooks/webhook.tsx')),
  page('/studio', () => import('./pages/studio/studio.tsx')),
  page('/playground', () => import('./pages/playground/playground.tsx')),
  page('/integrations', () => import('./pages/integrations/integrations.tsx')),
  page('/scheduling', () => import('./pages/scheduling/scheduling.tsx')),
  page('/account', () => import('./pages/account/account.tsx')),
  page('/overview', () => import('./pages/overview/overview.tsx')),
  page('/templates', () => import('./pages/templates/template-list.tsx')),
  page('/keys', () => import('./pages/keys/key-list.tsx')),
  page('/usage', () => import('./pages/usage/usage.tsx')),
  page('/members', () => import('./pages/members/members.tsx')),
  page('/audit', () => import('./pages/audit/audit-log.tsx')),
  page('/secrets', () => import('./pages/secrets/secret-list.tsx')),
  page('/workflows', () => import('./pages/workflows/workflow-list.tsx')),
  page('/workflows/$workflowId', () => import('./pages/workflows/workflow.tsx')),
];

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/app',
  defaultPreload: 'intent',
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: PageProblem,
  // Values of the search stand in the address as the API writes them, without quotes.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(
      Object.entries(search).flatMap(([name, value]) =>
        value === undefined || value === '' ? [] : [[name, String(value)]],
      ),
    ).toString();
    return text && `?${text}`;
  },
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
