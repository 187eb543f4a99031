import { createHash } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
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

/** Connects with the first mail. */
export function openMailer({ smtpUrl, from, folder }: MailSettings): Mailer {
  const transport = smtpUrl
    ? createTransport({
        url: smtpUrl,
        connectionTimeout: timeoutMs,
        greetingTimeout: timeoutMs,
        socketTimeout: timeoutMs,
      })
    : createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    async send({ to, subject, text, about }) {
      const name = createHash('sha256').update(`${to}\n${about}`).digest('hex').slice(0, 32);
      const messageId = `<${name}@atelier>`;
      // nodemailer can read message parts from files and URLs; callers' data must not make it do so.
      const sent = await transport.sendMail({
        ...{ from, to, subject, text, messageId },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      if (!smtpUrl) await writeAtomically(folder, `${name}.eml`, sent.message as Buffer);
    },
    close: () => transport.close(),
  };
}

/** The rename makes the file appear only once it is complete. */
async function writeAtomically(folder: string, name: string, content: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${name}.${process.pid}`);
  await writeFile(unfinished, content, { mode: 0o600 });
  await rename(unfinished, join(folder, name));
}
