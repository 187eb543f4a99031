import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { MailMessage } from 'nodemailer';
import { KeyedSemaphore } from './concurrency/keyed-semaphore.ts';
import type { MailSettings } from './env.ts';
import { writeMailFile } from './mail-folder.ts';

export interface Mail {
  to: string;
  /** For whom the mail is sent: its sender is called `<this> via <name in MAIL_FROM>`. */
  onBehalfOf?: string;
  /** Where answers go; those to other mails go to the address of MAIL_FROM. */
  replyTo?: { name: string; address: string };
  subject: string;
  text: string;
  /** Identifies the mail. It determines the Message-ID, so that a mail sent again after a crash is shown once. */
  about: string;
  /** An iCalendar object: another form of the text, and an attachment `invite.ics`. */
  invitation?: { method: 'REQUEST' | 'CANCEL'; content: string };
}

/** What happens right before a mail is sent. When it rejects, the mail is not sent. */
interface BeforeSending {
  /** Called when the mail has waited for other mails of the process, and before anything is done for it. */
  begin?: () => Promise<void>;
  /**
   * Called when a server has agreed to take the content, and before it gets any. A file is written without it: written
   * twice, it is one file.
   */
  handOver?: () => Promise<void>;
  /** Counts the mail; called after `handOver`, and for files too. */
  count?: () => Promise<void>;
}

export interface Mailer {
  /**
   * Resolves when the server has accepted the mail, or the file is written.
   * @throws MailFailure; what `before` rejects with
   */
  send(mail: Mail, before?: BeforeSending): Promise<void>;
  close(): void;
}

/** An error of nodemailer, with the answer of the server and the command that it answers. */
interface SmtpError {
  responseCode?: number;
  code?: string;
  command?: string;
}

/** A mail that was not sent, or for which this is not known. The message names no addresses and may be shown to tenants. */
export class MailFailure extends Error {
  override name = 'MailFailure';
  /** The content was handed over, and the server did not say what became of it. */
  readonly isUncertain: boolean;
  /** The server refused the recipient or the content for good. A refused login or sender ends all mails, for now. */
  readonly isPermanent: boolean;

  constructor(error: unknown, handedOver: boolean) {
    const { responseCode: code, code: name, command } = error as SmtpError;
    super(code ? `The mail server answered ${code}.` : (reasons[name ?? ''] ?? reasons.ECONNECTION), { cause: error });
    this.isUncertain = handedOver && !code;
    this.isPermanent = code !== undefined && code >= 500 && (command === 'RCPT TO' || command === 'DATA');
  }
}

const reasons: Record<string, string> = {
  ECONNECTION: 'The mail server could not be reached.',
  ETIMEDOUT: 'The mail server did not answer in time.',
  EAUTH: 'The mail server refused the login.',
  ENOSPC: 'The mail could not be written.',
  EACCES: 'The mail could not be written.',
  EROFS: 'The mail could not be written.',
};

const timeoutMs = 10_000;
/** Connections of one process to the mail server. */
const maxConnections = 20;

/** The sender in MAIL_FROM, and the domain of its address, which is also that of every Message-ID. */
async function parseSender(from: string): Promise<{ name: string; address: string; domain: string }> {
  const { default: addressparser } = await import('nodemailer/lib/addressparser');
  const [found] = addressparser(from, { flatten: true });
  const address = found?.address || from;
  return { name: found?.name ?? '', address, domain: address.slice(address.lastIndexOf('@') + 1) || 'localhost' };
}

async function openTransport(smtpUrl: string | undefined) {
  const { createTransport } = await import('nodemailer');
  return smtpUrl
    ? createTransport({
        url: smtpUrl,
        connectionTimeout: timeoutMs,
        greetingTimeout: timeoutMs,
        socketTimeout: timeoutMs,
      })
    : createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
}

/** A content that is generated on the first read: by then the server has agreed to take it. */
const gated = (content: () => Readable, gate: () => Promise<void>): Readable =>
  Readable.from(
    (async function* () {
      await gate();
      yield* content();
    })(),
    { objectMode: false },
  );

/** Loads its library, and connects, with the first mail. */
export function openMailer({ smtpUrl, from, folder }: MailSettings): Mailer {
  let opened: ReturnType<typeof openTransport> | undefined;
  const semaphore = new KeyedSemaphore(maxConnections, Number.POSITIVE_INFINITY);
  /** By the recipient of one call: another attempt may send the same mail at the same time. */
  const gates = new WeakMap<object, () => Promise<void>>();

  let parsed: ReturnType<typeof parseSender> | undefined;

  async function open() {
    const transport = await openTransport(smtpUrl);
    transport.use('stream', (mail: MailMessage, done: () => void) => {
      const { message, data } = mail;
      const gate = typeof data.to === 'object' ? gates.get(data.to) : undefined;
      const content = message.createReadStream.bind(message);
      if (gate && smtpUrl) message.createReadStream = () => gated(content as () => Readable, gate) as never;
      done();
    });
    return transport;
  }

  async function sendNow(mail: Mail, { begin, handOver, count }: BeforeSending = {}) {
    await begin?.();
    const { to, subject, text, about, invitation, onBehalfOf, replyTo } = mail;
    parsed ??= parseSender(from);
    const sender = await parsed;
    const names = [onBehalfOf, sender.name].filter(Boolean).join(' via ');
    const name = createHash('sha256').update(`${to}\n${about}`).digest('hex').slice(0, 32);
    const messageId = `<${name}@${sender.domain}>`;
    opened ??= open();
    const transport = await opened;
    let handedOver = false;
    let overtaken: unknown;
    const before = async (work?: () => Promise<void>): Promise<void> =>
      work?.().catch((error) => {
        overtaken = error;
        throw error;
      });
    // As an object it is one address, whatever it contains; a text can be a list.
    const recipient = { name: '', address: to };
    gates.set(recipient, async () => {
      await before(handOver);
      await before(count);
      handedOver = true;
    });
    try {
      const sent = await transport.sendMail({
        from: onBehalfOf ? { name: names, address: sender.address } : from,
        subject,
        text,
        messageId,
        ...(replyTo && { replyTo }),
        to: recipient,
        headers: { 'Auto-Submitted': 'auto-generated' },
        ...(invitation && { icalEvent: { ...invitation, filename: 'invite.ics' } }),
        // nodemailer can read message parts from files and URLs; callers' data must not cause that.
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      if (!smtpUrl) await writeMailFile(folder, `${name}.eml`, sent.message as Buffer, () => before(count));
    } catch (error) {
      throw overtaken ?? new MailFailure(error, handedOver);
    }
  }

  return {
    send: (mail, before) => semaphore.run('', () => sendNow(mail, before)),
    close: () => void opened?.then((transport) => transport.close()),
  };
}
