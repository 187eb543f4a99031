import type { ApiFeature } from '../../mount.ts';
import { betterAuthRoutes } from './better-auth.ts';
import { oidcRoutes } from './oidc-routes.ts';
import { passkeysPage } from './passkeys-page.ts';
import { passwordPage } from './password-page.ts';
import { secondFactorPage } from './second-factor-page.ts';
import { signInPages } from './sign-in-pages.ts';

/** Where people sign in, who have no key. */
export const signIn: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [
    signInPages(services),
    oidcRoutes(services),
    passwordPage(services),
    secondFactorPage(services),
    passkeysPage(services),
    betterAuthRoutes(services),
  ],
};
