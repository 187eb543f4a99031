import type { ApiFeature } from '../../mount.ts';
import { betterAuthRoutes } from './better-auth.ts';
import { passwordPage } from './password-page.ts';
import { signInPages } from './sign-in-pages.ts';

/** Where people sign in, who have no key. */
export const signIn: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [signInPages(services), passwordPage(services), betterAuthRoutes(services)],
};
