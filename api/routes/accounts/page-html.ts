import { html } from 'hono/html';
import {
  codePath,
  consolePath,
  invitationPath,
  linkPath,
  oidcPath,
  passkeyScriptPath,
  passkeysPath,
  passwordPath,
  secondFactorPath,
  signInPath,
} from '../../../src/accounts/core/paths.ts';
import { minPasswordLength } from '../../../src/accounts/passwords.ts';
import { type Html, problem } from '../../pages/html-page.ts';
import { withNext } from './next.ts';

/** The label is around its field: a page can have two of a name, in two forms. */
const text = (name: string, label: string, more: Html) =>
  html`<p><label>${label}<br><input class="field" name="${name}" ${more} required></label></p>`;

const email = (value: string) =>
  text('email', 'E-mail address', html`type="email" autocomplete="username" value="${value}"`);
const password = (name: string, label: string, autocomplete: string) =>
  text(name, label, html`type="password" autocomplete="${autocomplete}"`);

interface SignInWays {
  next: string;
  /** The provider's host; undefined where there is none. */
  provider: string | undefined;
  hasPasskeys: boolean;
}

/** Signing in by password, by a mailed link, by a passkey or at a provider. */
export const signInForms = (given: string, { next, provider, hasPasskeys }: SignInWays): Html => html`
      <form method="post" action="${withNext(signInPath, next)}">
        ${email(given)}
        ${password('password', 'Password', 'current-password')}
        <p><button type="submit">Sign in</button></p>
      </form>
      <h2>Without a password</h2>
      <p>If you forgot it, sign in by a link and set a new one on the page of your account.</p>
      <form method="post" action="${withNext(linkPath, next)}">
        ${email(given)}
        <p><button type="submit">Mail me a link</button></p>
      </form>
      ${hasPasskeys ? passkeyButton('enter', 'Sign in with a passkey', next) : ''}
      ${
        provider === undefined
          ? ''
          : html`
      <p><a href="${withNext(oidcPath, next)}">Sign in with ${provider}</a></p>`
      }`;

/** A button that the script shows where the browser knows passkeys. */
const passkeyButton = (action: 'enter' | 'add', label: string, next: string) => html`
      <p><button type="button" data-passkey="${action}" data-next="${next}" hidden>${label}</button></p>
      <p class="problem" role="alert" data-passkey-problem hidden></p>
      <script src="${passkeyScriptPath}" type="module"></script>`;

const code = (label: string) => text('code', label, html`autocomplete="one-time-code" spellcheck="false"`);

export const codeForm = (next: string): Html => html`
      <form method="post" action="${withNext(codePath, next)}">
        ${code('Code of your authenticator, or a backup code')}
        <p><button type="submit">Go on</button></p>
      </form>`;

export const linkForm = (token: string, address: string, next: string): Html => html`
      <p>You sign in as <strong>${address}</strong>.</p>
      <form method="post" action="${withNext(`${linkPath}/${token}`, next)}"><p><button type="submit">Sign in</button></p></form>`;

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

/** The proof of a person who chooses a password: the current password, or a link that was just opened. */
export type PasswordProof = 'none' | 'password' | 'link';

export const passwordForm = (asked: PasswordProof): Html => html`
      ${asked === 'link' ? html`<p>You signed in by a link, so the current password is not needed.</p>` : ''}
      <form method="post" action="${passwordPath}">
        ${asked === 'password' ? password('currentPassword', 'Current password', 'current-password') : ''}
        ${password('newPassword', `New password, at least ${minPasswordLength} characters`, 'new-password')}
        <p><button type="submit">Set the password</button></p>
      </form>`;

/** @param wasChanged whether it replaces another one */
export const passwordIsSet = (wasChanged: boolean): Html => html`
      <p>The password is set.${wasChanged ? ' Your other sessions have ended.' : ''}</p>
      <p><a href="${consolePath}">Go on</a></p>`;

const action = (name: string, label: string, content: Html | string = '') => html`
      <form method="post" action="${secondFactorPath}">
        <input type="hidden" name="action" value="${name}">
        ${content}
        <p><button type="submit">${label}</button></p>
      </form>`;

/** The proof that a person gives before the second factor changes: the password, or a code without a password. */
const proof = (hasPassword: boolean, hasFactor: boolean): Html | string => {
  if (hasPassword) return password('password', 'Current password', 'current-password');
  return hasFactor ? code('Code of your authenticator') : '';
};

/** The way to a second factor, or the actions for an existing one. */
export const secondFactorForms = ({ isOn, hasPassword }: { isOn: boolean; hasPassword: boolean }): Html =>
  isOn
    ? html`
      <p>A code of your authenticator is asked for when you sign in, except with a passkey.</p>
      <h2>Backup codes</h2>
      ${action('codes', 'Make new backup codes', proof(hasPassword, true))}
      <h2>Turn it off</h2>
      ${action('off', 'Turn the second factor off', proof(hasPassword, true))}`
    : html`
      <p>With a second factor, signing in asks for a code of an app on your phone, too.</p>
      ${action('begin', 'Set up a second factor', proof(hasPassword, false))}`;

/** The secret in groups, as people type it. */
const grouped = (secret: string) => secret.replace(/(.{4})(?=.)/g, '$1 ');

const codeList = (codes: readonly string[]) => html`
      <p>Each of these backup codes signs you in once, in place of a code. They are shown only now: keep them.</p>
      <ul>${codes.map((one) => html`<li><code>${one}</code></li>`)}</ul>`;

/** @param secret in base32 @param uri for authenticators on this device */
export const secondFactorSetup = (secret: string, uri: string, codes: readonly string[]): Html => html`
      <p>Add this key to your authenticator app, or <a href="${uri}">open it on this device</a>:</p>
      <p><code>${grouped(secret)}</code></p>
      ${codeList(codes)}
      <p>A setup that begins later, in another window too, replaces this key and these codes: only the key that this page showed last can be confirmed.</p>
      ${confirmForm()}`;

/** The last step of the setup. */
export const confirmForm = (): Html => action('confirm', 'Turn it on', code('Code that the app shows'));

export const newBackupCodes = (codes: readonly string[]): Html => html`
      <p>The backup codes of before work no more.</p>
      ${codeList(codes)}
      <p><a href="${secondFactorPath}">Back</a></p>`;

export const factorIsChanged = (isOn: boolean): Html => html`
      <p>The second factor is ${isOn ? 'on. Your other sessions have ended' : 'off'}.</p>
      <p><a href="${consolePath}">Go on</a></p>`;

/** The passkeys of a person: each can be removed, and the script adds one. */
export const passkeyList = (passkeys: readonly { id: string; name: string; createdAt: Date | null }[]): Html => html`
      <p>A passkey signs you in with this device or a security key, without a password.</p>
      <ul>${passkeys.map(
        ({ id, name, createdAt }) => html`
        <li>
          <form method="post" action="${passkeysPath}/${id}/remove">
            ${name}${createdAt ? html`, since ${createdAt.toISOString().slice(0, 10)}` : ''}
            <button type="submit" aria-label="Remove ${name}">Remove</button>
          </form>
        </li>`,
      )}</ul>
      ${passkeys.length === 0 ? html`<p>You have none.</p>` : ''}
      <p><label>Name of the new passkey<br><input class="field" id="name" maxlength="100" value="Passkey"></label></p>
      ${passkeyButton('add', 'Add a passkey', passkeysPath)}
      <p><a href="${consolePath}">Go on</a></p>`;

/** Why the sign-in at the provider failed. */
export const providerFailed = (message: string): Html => html`
      ${problem(message)}
      <p><a href="${signInPath}">Sign in another way</a></p>`;

export const noPasskeysHere: Html = html`
      <p>Browsers make passkeys for addresses with a name. This installation has none.</p>`;

export const linkIsDead: Html = html`
      <p>This link was used already, or it is too old. A new one is mailed on the page to sign in, or printed by an operator.</p>
      <p><a href="${signInPath}">Sign in</a></p>`;

export const linkIsMailed: Html = html`
      <p>If the address has an account, a link is on its way. It works once.</p>`;
