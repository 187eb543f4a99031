import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

export interface SmtpServer {
  /** smtp://127.0.0.1:… */
  url: string;
  /** Every mail that was taken, as it came. */
  mails: { to: string; content: string }[];
  /** From now on mail is taken, refused as by a server in trouble, or to these addresses refused for good. */
  refuse(refusing: boolean | string[]): void;
  close(): Promise<void>;
}

/** Speaks as much SMTP as it takes to be sent a mail. */
export async function startSmtpServer(): Promise<SmtpServer> {
  const mails: SmtpServer['mails'] = [];
  const sockets = new Set<Socket>();
  let refusing: boolean | string[] = false;
  const answerTo = (address: string) => {
    if (refusing === true) return '451 try later';
    return refusing !== false && refusing.includes(address) ? '550 no such mailbox' : '250 ok';
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    const say = (line: string) => socket.write(`${line}\r\n`);
    let [text, to] = ['', ''];
    let inData = false;
    say('220 ready');
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
      for (;;) {
        const end = text.indexOf(inData ? '\r\n.\r\n' : '\r\n');
        if (end < 0) return;
        const part = text.slice(0, end);
        text = text.slice(end + (inData ? 5 : 2));
        if (inData) {
          inData = false;
          mails.push({ to, content: part });
          say('250 taken');
        } else if (/^RCPT TO:/i.test(part)) {
          to = /<(.*)>/.exec(part)![1]!;
          say(answerTo(to));
        } else if (/^DATA/i.test(part)) {
          inData = true;
          say('354 go on');
        } else if (/^QUIT/i.test(part)) {
          say('221 bye');
          socket.end();
        } else say('250 ok');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `smtp://127.0.0.1:${typeof address === 'object' ? address!.port : 0}`,
    mails,
    refuse(value) {
      refusing = value;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
