import { createHash } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type { MailSettings } from './env.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** What the mail is about. One that is sent again after a crash has the same Message-ID, and readers show it once. */
  about: string;
}

export interface Mailer {
  /** Resolves when the server, or the folder, has it. */
  send(mail: Mail): Promise<void>;
  close(): void;
}

const patienceMs = 10_000;

/** Opens nothing before the first mail. */
export function openMailer({ smtpUrl, from, folder }: MailSettings): Mailer {
  const transport = smtpUrl
    ? createTransport({
        url: smtpUrl,
        connectionTimeout: patienceMs,
        greetingTimeout: patienceMs,
        socketTimeout: patienceMs,
      })
    : createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    async send({ to, subject, text, about }) {
      const name = createHash('sha256').update(`${to}\n${about}`).digest('hex').slice(0, 32);
      const messageId = `<${name}@atelier>`;
      // An address is data and never a header: the library is told not to read files or URLs from what it is given.
      const sent = await transport.sendMail({
        ...{ from, to, subject, text, messageId },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      if (!smtpUrl) await keepFile(folder, `${name}.eml`, sent.message as Buffer);
    },
    close: () => transport.close(),
  };
}

/** Whole or not at all. */
async function keepFile(folder: string, name: string, content: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${name}.${process.pid}`);
  await writeFile(unfinished, content, { mode: 0o600 });
  await rename(unfinished, join(folder, name));
}
