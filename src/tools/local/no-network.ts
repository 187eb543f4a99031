// Loaded before the program of a tool server: it has no use for a network, and gets none from Node.
import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const refuse = () => {
  throw new Error('Tool servers of this machine have no network.');
};

net.Socket.prototype.connect = refuse;
net.Server.prototype.listen = refuse;
dgram.createSocket = refuse;
for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6', 'reverse'] as const) {
  Object.assign(dns, { [name]: refuse });
  Object.assign(dns.promises, { [name]: refuse });
}
syncBuiltinESMExports();
