import { createHash } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MailSettings } from './env.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** Identifies the mail. It determines the Message-ID, so that a mail sent again after a crash is shown once. */
  about: string;
}

export interface Mailer {
  /** Resolves when the server has accepted the mail, or the file is written. */
  send(mail: Mail): Promise<void>;
  close(): void;
}

const timeoutMs = 10_000;

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

/** Loads its library, and connects, with the first mail. */
export function openMailer({ smtpUrl, from, folder }: MailSettings): Mailer {
  let opened: ReturnType<typeof openTransport> | undefined;
  return {
    async send({ to, subject, text, about }) {
      const name = createHash('sha256').update(`${to}\n${about}`).digest('hex').slice(0, 32);
      const messageId = `<${name}@atelier>`;
      // nodemailer can read message parts from files and URLs; callers' data must not make it do so.
      opened ??= openTransport(smtpUrl);
      const transport = await opened;
      const sent = await transport.sendMail({
        ...{ from, subject, text, messageId },
        // As an object it is one address, whatever it contains; a text can be a list.
        to: { name: '', address: to },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      if (!smtpUrl) await writeAtomically(folder, `${name}.eml`, sent.message as Buffer);
    },
    close: () => void opened?.then((transport) => transport.close()),
  };
}

/** The rename makes the file appear only once it is complete. */
async function writeAtomically(folder: string, name: string, content: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${name}.${process.pid}`);
  await writeFile(unfinished, content, { mode: 0o600 });
  await rename(unfinished, join(folder, name));
}
