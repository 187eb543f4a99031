import { html } from 'hono/html';
import { consolePath, invitationPath, linkPath, passwordPath, signInPath } from '../../../src/accounts/core/paths.ts';
import { minPasswordLength } from '../../../src/accounts/passwords.ts';
import type { Html } from '../../pages/html-page.ts';

const text = (name: string, label: string, more: Html) =>
  html`<p><label for="${name}">${label}</label> <input id="${name}" name="${name}" ${more} required></p>`;

const email = (value: string) =>
  text('email', 'E-mail address', html`type="email" autocomplete="username" value="${value}"`);
const password = (name: string, label: string, autocomplete: string) =>
  text(name, label, html`type="password" autocomplete="${autocomplete}"`);

/** Signing in by password, or by a mailed link. */
export const signInForms = (given: string): Html => html`
      <form method="post" action="${signInPath}">
        ${email(given)}
        ${password('password', 'Password', 'current-password')}
        <p><button type="submit">Sign in</button></p>
      </form>
      <h2>Without a password</h2>
      <form method="post" action="${linkPath}">
        ${email(given)}
        <p><button type="submit">Mail me a link</button></p>
      </form>`;

export const codeForm = (): Html => html`
      <form method="post" action="/api/auth/two-factor">
        ${text('code', 'Code of your authenticator', html`inputmode="numeric" autocomplete="one-time-code"`)}
        <p><button type="submit">Go on</button></p>
      </form>`;

export const linkForm = (token: string, address: string): Html => html`
      <p>You sign in as <strong>${address}</strong>.</p>
      <form method="post" action="${linkPath}/${token}"><p><button type="submit">Sign in</button></p></form>`;

export const invitationForm = (
  token: string,
  of: { organizationName: string; email: string; role: string },
): Html => html`
      <dl>
        <dt>Organization</dt><dd>${of.organizationName}</dd>
        <dt>Your address</dt><dd>${of.email}</dd>
        <dt>Your role</dt><dd>${of.role}</dd>
      </dl>
      <form method="post" action="${invitationPath}/${token}"><p><button type="submit">Accept and sign in</button></p></form>`;

/** @param hasOne whether the person has a password that is to be replaced */
export const passwordForm = (hasOne: boolean): Html => html`
      <form method="post" action="${passwordPath}">
        ${hasOne ? password('currentPassword', 'Current password', 'current-password') : ''}
        ${password('newPassword', `New password, at least ${minPasswordLength} characters`, 'new-password')}
        <p><button type="submit">Set the password</button></p>
      </form>`;

/** @param wasChanged whether it replaces another one */
export const passwordIsSet = (wasChanged: boolean): Html => html`
      <p>The password is set.${wasChanged ? ' Your other sessions have ended.' : ''}</p>
      <p><a href="${consolePath}">Go on</a></p>`;

export const linkIsDead: Html = html`
      <p>This link was used already, or it is too old.</p>
      <p><a href="${signInPath}">Sign in</a></p>`;

export const linkIsMailed: Html = html`
      <p>If the address has an account, a link is on its way. It works once.</p>`;
